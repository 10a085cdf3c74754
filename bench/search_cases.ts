/** The files of {@link ./search_bench.ts}, and what is done with them. */

/** A program that does the same. */
export interface UnixTool {
  readonly name: string;
  readonly command: readonly string[];
  readonly proof: string;
  readonly exitCode?: number;
  readonly onAllCores?: boolean;
}

type Call = readonly [tool: string, input: Record<string, unknown>];

interface Case {
  readonly name: string;
  readonly ours: (round: number) => Call;
  /** What the answers must hold. */
  readonly proof: string;
  readonly official?: { readonly call: (round: number) => Call; readonly proof: string };
  readonly unix: readonly UnixTool[];
}

const fileCount = 10_000;
const directoryCount = 100;
const lineText = "needle in the hay";

/** 10,000 files of 62 MB below 10 times 10 directories, 10,000 empty ones in one, one of 1 MB, two of 50 MB. */
export function makeSearchedFiles(root: string): void {
  const random = createRandom();
  const word = (): string => Array.from({ length: 2 + random(9) }, () => String.fromCharCode(97 + random(26))).join("");
  const words = Array.from({ length: 2_000 }, word);
  Deno.mkdirSync(`${root}/many`, { recursive: true });
  for (let n = 0; n < fileCount; n++) {
    const directory = `${root}/tree/d${n % 10}/e${n % directoryCount}`;
    if (n < directoryCount) Deno.mkdirSync(directory, { recursive: true });
    let text = n === 5_733 ? `here is the ${lineText}\n` : "";
    for (const size = 1_900 + random(8_400); text.length < size;) {
      text += `${Array.from({ length: 3 + random(12) }, () => words[random(words.length)]).join(" ")}\n`;
    }
    Deno.writeTextFileSync(`${directory}/f${n}.txt`, text);
    Deno.writeTextFileSync(`${root}/many/file-${n}`, "");
  }
  const line = "0123456789abcde\n";
  for (const name of ["1M", "1M-official"]) {
    Deno.writeTextFileSync(`${root}/${name}`, `${line.repeat(32_000)}here is the needle\n${line.repeat(32_000)}`);
  }
  Deno.mkdirSync(`${root}/equal`);
  for (const name of ["one", "two"]) Deno.writeTextFileSync(`${root}/equal/${name}`, line.repeat(50 * 65_536));
}

/** What is done with them. */
export function searchCases(root: string): readonly Case[] {
  const tree = `${root}/tree`;
  const search = (name: string, input: Record<string, unknown>, grep: readonly string[], isThere: boolean): Case => {
    const proof = isThere ? "f5733.txt" : "";
    const exitCode = isThere ? 0 : 1;
    return {
      name,
      ours: () => ["file_search", { path: "tree", ...input }],
      proof: isThere ? "f5733.txt" : "nothing found",
      unix: [
        { name: "grep", command: ["grep", "-rn", ...grep, tree], proof, exitCode },
        { name: "rg", command: ["rg", "-j1", "-n", ...grep.filter((flag) => flag !== "-E"), tree], proof, exitCode },
        {
          name: "rg",
          command: ["rg", "-n", ...grep.filter((flag) => flag !== "-E"), tree],
          proof,
          exitCode,
          onAllCores: true,
        },
      ],
    };
  };
  return [
    { name: "list one entry, beside true", ours: () => ["file_list", { limit: 1 }], proof: "1M", unix: [trueTool] },
    search("search 10,000 files: not there", { query: "needlessly" }, ["-F", "needlessly"], false),
    search("search: one line", { query: lineText }, ["-F", lineText], true),
    search("search: one line, any case", { query: "NEEDLE IN", ignore_case: true }, ["-iF", "NEEDLE IN"], true),
    search("search: expression with a text", { query: "ne+dle\\s+in", regex: true }, ["-E", "ne+dle\\s+in"], true),
    search("search: expression, rare start", { query: "[0-9]{3}x", regex: true }, ["-E", "[0-9]{3}x"], false),
    search("search: expression, rare end", { query: "\\w+\\s+[0-9]+\\w", regex: true }, [
      "-E",
      "\\w+\\s+[0-9]+\\w",
    ], false),
    search("search: expression, rare middle", { query: "\\w+\\s+[0-9]+\\s+\\w+", regex: true }, [
      "-E",
      "\\w+\\s+[0-9]+\\s+\\w+",
    ], false),
    {
      name: "search: the first 10 of very many lines",
      ours: () => ["file_search", { path: "tree", query: "e", limit: 10 }],
      proof: ".txt",
      unix: [{ name: "rg | head", command: ["sh", "-c", `rg -n e '${tree}' | head -10`], proof: ".txt" }],
    },
    {
      name: "list 1,000 of 10,000, with details",
      ours: () => ["file_list", { path: "many", show: "details" }],
      proof: "file-1",
      official: { call: () => ["list_directory_with_sizes", { path: `${root}/many` }], proof: "file-1" },
      unix: [{ name: "ls -l", command: ["ls", "-l", `${root}/many`], proof: "file-1" }],
    },
    {
      name: "tree of 10,000 files (ours: its first 1,000)",
      ours: () => ["file_list", { path: "tree", pattern: "**" }],
      proof: ".txt",
      official: { call: () => ["directory_tree", { path: tree }], proof: ".txt" },
      unix: [{ name: "find", command: ["find", tree], proof: ".txt" }],
    },
    {
      name: "summary of 10,000 files: bytes and lines",
      ours: () => ["file_list", { path: "tree", show: "summary" }],
      proof: "txt",
      unix: [{
        name: "find | wc",
        command: ["sh", "-c", `find '${tree}' -type f -print0 | xargs -0 cat | wc`],
        proof: "",
      }],
    },
    {
      name: "SHA-256 of 100 MB: two equal files",
      ours: () => ["file_list", { path: "equal", show: "duplicates" }],
      proof: "two",
      unix: [{ name: "sha256sum", command: ["sha256sum", `${root}/equal/one`, `${root}/equal/two`], proof: "two" }],
    },
    {
      name: "edit a line of 1 MB (ours also to the disk)",
      ours: (round) => {
        const [old_text, new_text] = swapped(round);
        return ["file_edit", { filename: "1M", old_text, new_text }];
      },
      proof: "+here is the",
      official: {
        call: (round) => {
          const [oldText, newText] = swapped(round);
          return ["edit_file", { path: `${root}/1M-official`, edits: [{ oldText, newText }] }];
        },
        proof: "+here is the",
      },
      unix: [],
    },
  ];
}

const trueTool: UnixTool = { name: "true", command: ["true"], proof: "" };

function swapped(round: number): readonly [string, string] {
  const [a, b] = ["here is the needle", "here is the thread"] as const;
  return round % 2 === 0 ? [a, b] : [b, a];
}

/** Same numbers each time (a linear congruential generator). */
function createRandom(): (below: number) => number {
  let state = 1;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fff_ffff;
    return (state >> 8) % below;
  };
}
