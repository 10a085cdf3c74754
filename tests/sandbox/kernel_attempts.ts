/** What {@link ./broken_worker.ts} tries with the binding to the kernel that the worker holds, and what stops it. */
export const kernelAttempts: readonly (readonly [what: string, reason: RegExp])[] = [
  ["load the binding again", /not available/],
  ["open a directory outside by the worker's descriptors", /EACCES/],
  ["leave the workspace by the worker's descriptors", /EXDEV/],
  ["lead a link outside by methods that it replaces", /ENOENT/],
  ["make a descriptor from a number", /TypeError/],
];
