/** The operations that are measured: the same work for Portcullis, for the official server, and for nobody's server. */

/** One `tools/call`. */
export interface Call {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

/** One operation. */
export interface Case {
  readonly name: string;
  /** Called once a round, and again with each `next_cursor` until there is none. */
  readonly ours: (round: number) => Call;
  /** `null`: the official server has nothing of the kind. */
  readonly official: ((round: number) => Call) | null;
  /** The same without any server, and what it is called. */
  readonly bare: readonly [name: string, run: (round: number) => unknown];
  /** What the answers' texts must hold. */
  readonly proof: string;
  /** How many calls of ours answer the whole. Default 1. */
  readonly pages?: number;
  /** How many rounds, where the usual number would take long. */
  readonly maxRounds?: number;
}

/** The operations on the files of {@link ./workspace_files.ts} below `root`. */
export function workspaceCases(root: string): readonly Case[] {
  const at = (name: string): string => `${root}/${name}`;
  const ours = (name: string, input: Record<string, unknown>) => () => ({ name, arguments: input });
  const text = "x".repeat(1000);
  const read = (name: string): Case => ({
    name: `read ${name}`,
    ours: ours("file_read", { filename: name }),
    official: ours("read_text_file", { path: at(name) }),
    bare: ["Deno.readTextFileSync", () => Deno.readTextFileSync(at(name))],
    proof: "0123456789",
  });
  /** Changes the long directory, so that nobody can know its entries from before; gives its path. */
  const changeMany = (round: number): string => {
    Deno.writeTextFileSync(at("many/changed"), String(round));
    Deno.removeSync(at("many/changed"));
    return "many";
  };
  const few = Array.from({ length: 20 }, (_, n) => `few/${n}`);
  return [
    read("1k"),
    read("100k"),
    {
      name: "read 20 files of 1 kB",
      ours: ours("file_read", { filename: few[0], files: few.slice(1) }),
      official: ours("read_multiple_files", { paths: few.map(at) }),
      bare: ["Deno.readTextFileSync", () => few.map((name) => Deno.readTextFileSync(at(name)))],
      proof: "0123456789",
    },
    {
      name: "first 10 lines of 10M",
      ours: ours("file_read", { filename: "10M", head: 10 }),
      official: ours("read_text_file", { path: at("10M"), head: 10 }),
      bare: ["Deno.openSync, readSync", () => readStart(at("10M"))],
      proof: "0123456789",
    },
    {
      name: "last 10 lines of 10M",
      ours: ours("file_read", { filename: "10M", tail: 10 }),
      official: ours("read_text_file", { path: at("10M"), tail: 10 }),
      bare: ["Deno.openSync, readSync", () => readStart(at("10M"))],
      proof: "0123456789",
    },
    {
      name: "describe a file",
      ours: ours("file_list", { pattern: "1k", show: "details" }),
      official: ours("get_file_info", { path: at("1k") }),
      bare: ["Deno.statSync", () => Deno.statSync(at("1k"))],
      proof: "1",
    },
    ...[1, 100].map((kilobytes): Case => ({
      name: `write ${kilobytes}k (ours also to the disk)`,
      ours: ours("file_write", { filename: "w", content: text.repeat(kilobytes) }),
      official: ours("write_file", { path: at("w"), content: text.repeat(kilobytes) }),
      bare: ["Deno.writeTextFileSync", () => Deno.writeTextFileSync(at("w"), text.repeat(kilobytes))],
      proof: "w",
    })),
    {
      name: "edit 1k (ours also to the disk)",
      ours: (round) => ({
        name: "file_edit",
        arguments: { filename: "changed/0", ...swap("old_text", "new_text", round) },
      }),
      official: (round) => ({
        name: "edit_file",
        arguments: { path: at("changed/1"), edits: [swap("oldText", "newText", round)] },
      }),
      bare: ["read, replace, write", (round) => {
        const { from, to } = swap("from", "to", round);
        Deno.writeTextFileSync(at("changed/2"), Deno.readTextFileSync(at("changed/2")).replace(from ?? "", to ?? ""));
      }],
      proof: "--- ",
    },
    {
      name: "move a file",
      ours: (round) => ({ name: "file_move", arguments: move("filename", "destination", "changed/3", round) }),
      official: (round) => ({ name: "move_file", arguments: move("source", "destination", at("changed/4"), round) }),
      bare: ["Deno.renameSync", (round) => {
        const { from, to } = move("from", "to", at("changed/5"), round);
        Deno.renameSync(from ?? "", to ?? "");
      }],
      proof: "oved",
    },
    {
      name: "list 20",
      ours: ours("file_list", { path: "few" }),
      official: ours("list_directory", { path: at("few") }),
      bare: ["Deno.readDirSync", () => Array.from(Deno.readDirSync(at("few")))],
      proof: "19",
    },
    {
      name: "list 1,000 of 10,000, just changed",
      ours: (round) => ({ name: "file_list", arguments: { path: changeMany(round) } }),
      official: (round) => ({ name: "list_directory", arguments: { path: at(changeMany(round)) } }),
      bare: ["Deno.readDirSync", (round) => Array.from(Deno.readDirSync(at(changeMany(round))))],
      proof: "file-",
      maxRounds: 15,
    },
    {
      name: "list 10,000, ours in pages of 1,000",
      ours: ours("file_list", { path: "many" }),
      official: ours("list_directory", { path: at("many") }),
      bare: ["Deno.readDirSync", () => Array.from(Deno.readDirSync(at("many")))],
      proof: "file-",
      pages: 10,
      maxRounds: 15,
    },
    {
      name: "list 10,000, the first page of 1,000",
      ours: ours("file_list", { path: "many" }),
      official: ours("list_directory", { path: at("many") }),
      bare: ["Deno.readDirSync", () => Array.from(Deno.readDirSync(at("many")))],
      proof: "file-1",
      maxRounds: 15,
    },
    {
      name: "list 1,000 of 10,000 with sizes",
      ours: ours("file_list", { path: "many", show: "details" }),
      official: ours("list_directory_with_sizes", { path: at("many") }),
      bare: ["readDirSync, lstatSync", () => {
        for (const { name } of Deno.readDirSync(at("many"))) Deno.lstatSync(at(`many/${name}`));
      }],
      proof: "file-1",
      maxRounds: 7,
    },
    {
      name: "tree of 10,000 files, the first 1,000 of ours",
      ours: ours("file_list", { path: "tree", depth: 5 }),
      official: ours("directory_tree", { path: at("tree") }),
      bare: ["find", () => run("find", at("tree"))],
      proof: ".txt",
      maxRounds: 7,
    },
    {
      name: "find by name in 10,000 files",
      ours: ours("file_list", { path: "tree", pattern: "**/*77.txt" }),
      official: ours("search_files", { path: at("tree"), pattern: "**/*77.txt" }),
      bare: ["find", () => run("find", at("tree"), "-name", "*77.txt")],
      proof: "77.txt",
      maxRounds: 7,
    },
    ...[
      { what: "a text", query: { query: "needle" }, grep: ["-rnF", "needle"] },
      { what: "a text, any case", query: { query: "NEEDLE", ignore_case: true }, grep: ["-rniF", "NEEDLE"] },
      { what: "an expression", query: { query: "ne+d[a-m]e$", regex: true }, grep: ["-rnE", "ne+d[a-m]e$"] },
    ].map(({ what, query, grep }): Case => ({
      name: `search 10,000 files for ${what}`,
      ours: ours("file_search", { path: "tree", ...query }),
      official: null,
      bare: ["grep -r", () => run("grep", ...grep, at("tree"))],
      proof: "needle",
      maxRounds: 7,
    })),
  ];
}

/** The end of the file holds the same text, so that one way of reading fits both. */
function readStart(path: string): void {
  using file = Deno.openSync(path);
  file.readSync(new Uint8Array(160));
}

function run(program: string, ...args: string[]): void {
  const { success } = new Deno.Command(program, { args, stdout: "piped", stderr: "null" }).outputSync();
  if (!success) throw new Error(`${program} failed`);
}

/** The members of an edit that the next round takes back. */
function swap(from: string, to: string, round: number): Record<string, string> {
  const texts = ["0123456789abcde\n".repeat(64), `${"0123456789abcde\n".repeat(63)}0123456789ABCDE\n`];
  return { [from]: texts[round % 2] ?? "", [to]: texts[(round + 1) % 2] ?? "" };
}

/** The members of a move that the next round takes back. */
function move(from: string, to: string, path: string, round: number): Record<string, string> {
  const paths = [path, `${path}-moved`];
  return { [from]: paths[round % 2] ?? "", [to]: paths[(round + 1) % 2] ?? "" };
}
