/** The files on which the workspace and the server beside it are measured. */

/** How many files the tree has, and the long directory. */
const fileCount = 10_000;

/** Makes them below `root`, which is there. All are old enough for whoever trusts times of change to trust these. */
export function makeFiles(root: string): void {
  const longAgo = new Date(Date.now() - 60_000);
  for (const [name, kilobytes] of [["1k", 1], ["100k", 100], ["1M", 1_000], ["10M", 10_240]] as const) {
    Deno.writeTextFileSync(`${root}/${name}`, "0123456789abcde\n".repeat(64 * kilobytes));
  }
  for (const directory of ["few", "changed"]) {
    Deno.mkdirSync(`${root}/${directory}`);
    for (let n = 0; n < 20; n++) Deno.writeTextFileSync(`${root}/${directory}/${n}`, "0123456789abcde\n".repeat(64));
  }
  Deno.mkdirSync(`${root}/many`);
  for (let n = 0; n < fileCount; n++) {
    Deno.writeTextFileSync(`${root}/many/file-${n}`, "");
    const directory = `${root}/tree/d${n % 100}`;
    if (n < 100) Deno.mkdirSync(directory, { recursive: true });
    Deno.writeTextFileSync(
      `${directory}/${n}.txt`,
      `line\n${n % 1000 === 0 ? "a needle\n" : ""}${"text\n".repeat(40)}`,
    );
  }
  for (const directory of ["many", "tree"]) Deno.utimeSync(`${root}/${directory}`, longAgo, longAgo);
  for (let n = 0; n < 100; n++) Deno.utimeSync(`${root}/tree/d${n}`, longAgo, longAgo);
}
