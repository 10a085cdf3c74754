/** Files and names that a caller plants, so that calls on them are dear. */
import { join } from "node:path";

const mebibyte = 1_048_576;
const combining = "\u0301\u0323\u0302\u0331";

/** A name of so many bytes with as much to normalise as there can be; `index` makes it one of many. */
const dearName = (index: number): string => `${index}e${combining.repeat(24)}`;

/** Names of directories that do not exist, none of them ASCII. */
export const deepPath = Array.from({ length: 500 }, (_, index) => `é${index % 100}`).join("/");

/** Names that nearly are, as an agent would mistype them. */
export const nearPath = (index: number): string => `names/${"ab".repeat(20)}${index}é-`;

/** Writes them below the workspace's directory. */
export async function plantFiles(root: string): Promise<void> {
  const write = (name: string, content: string | Uint8Array): void => {
    const path = join(root, name);
    if (typeof content === "string") Deno.writeTextFileSync(path, content);
    else Deno.writeFileSync(path, content);
  };
  for (const name of ["names", "globs", "ignored", "binary", "alike", "many", "files"]) {
    await Deno.mkdir(join(root, name), { recursive: true });
  }
  write("letters.txt", "a".repeat(mebibyte - 1));
  write("attached.bin", new Uint8Array(16 * mebibyte));
  write("capitals.txt", "A B".repeat(mebibyte / 3));
  write("lines.txt", "a\n".repeat(480_000));
  write("mixed.txt", "a\r\nb\n".repeat(200_000));
  write("large.txt", "some words of a line\n".repeat(700_000));
  write("more_letters.txt", "a".repeat(15 * mebibyte));
  write("more_mixed.txt", "a\r\nb\n".repeat(2_500_000));
  write("quotes.txt", '"\\'.repeat(mebibyte / 2));
  write("controls.txt", `${"a".repeat(45)}\u0001`.repeat(19_999));
  write("short.txt", `${"a\n".repeat(255)}b\n`.repeat(2_000));
  write("line.txt", new Uint8Array(Buffer.from(`\ufeff${"é".repeat(7.5 * mebibyte)}`, "utf16le")));
  write("older.txt", new Uint8Array(7.5 * mebibyte).map((_, at) => at % 9 === 0 ? 0xe9 : 0x61));
  write("wide.txt", new Uint8Array(Buffer.from(`\ufeff${"aé\n".repeat(690_000)}`, "utf16le")));
  for (let index = 0; index < 6; index++) {
    write(`binary/${index}.bin`, new Uint8Array(mebibyte).map((_, at) => Math.imul(at + index, 2_654_435_761) >>> 13));
    write(`binary/${index}.txt`, "\u0001".repeat(mebibyte));
    write(`alike/${index}.txt`, "same".repeat(mebibyte));
  }
  for (let index = 0; index < 3_000; index++) write(`names/${dearName(index)}`, "");
  for (let index = 0; index < 3_000; index++) write(`names/${"ab".repeat(20)}${index}`, "");
  for (let index = 0; index < 1_000; index++) write(`globs/${index}${"a".repeat(240)}`, "");
  for (let index = 0; index < 40; index++) write(`globs/${"a".repeat(200)}${index}`, "");
  for (let index = 0; index < 2_000; index++) write(`many/${index}.txt`, `file ${index}\n`);
  for (let index = 0; index < 12_000; index++) write(`files/${index}.txt`, `file ${index}\n`);
  let nested = join(root, "ignored");
  for (let level = 0; level < 30; level++) {
    nested = join(nested, "a".repeat(60));
    await Deno.mkdir(nested);
    Deno.writeTextFileSync(join(nested, ".gitignore"), `${"*a".repeat(100)}b\n`.repeat(39));
    for (let file = 0; file < 16; file++) Deno.writeTextFileSync(join(nested, `${"a".repeat(200)}${file}`), "");
  }
}

/**
 * What an edit leaves of `undo.txt`, and what the caller makes of it then: nearly the edited passage everywhere. `change`
 * is the edit's, once it was made.
 */
export const undone = {
  change: "",
  before: `${"a".repeat(7_000)}c${"a".repeat(7_000)}\n`,
  oldText: "c",
  newText: "b",
  later: "a".repeat(mebibyte - 1),
};
