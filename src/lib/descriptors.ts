/** How many files and connections this process can have open at once. */

/** As many more as can be opened, up to `most`. Found by opening: the system's own answer needs permission for all. */
export function openableDescriptors(most: number): number {
  const opened: Deno.FsFile[] = [];
  try {
    while (opened.length < most) opened.push(Deno.openSync(Deno.execPath()));
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "EMFILE") return most; // another reason says nothing about it
  } finally {
    for (const file of opened) file.close();
  }
  return opened.length;
}
