/** Hostile cases of the same groups for the tools that the others leave out, and spellings that came to mind later. */
import { type HostileCase, insideFile } from "./hostile_cases.ts";

const linkOut = "ln -s ../outside out; printf 'inside\\n' > in.txt";
const anyRefusal = ["deny", "not_found"] as const;

interface Row {
  readonly why: string;
  readonly setup?: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly accept: HostileCase["accept"];
  readonly acceptOfCall?: HostileCase["accept"];
  readonly contains?: readonly string[];
  readonly notContains?: readonly string[];
}

/** A call understands the machine's own name of a file in the workspace, where that is a directory. */
const machinePath = "{{W}}/in.txt";
const ofCall = (filename: string): Pick<Row, "acceptOfCall"> =>
  filename === machinePath ? { acceptOfCall: ["ok", ...anyRefusal] } : {};

const spellings: readonly string[] = [
  "./../outside/secret.txt",
  "in.txt/../../outside/secret.txt",
  "a/b/../../../outside/secret.txt",
  "..;/outside/secret.txt",
  " ../outside/secret.txt",
  ".. /outside/secret.txt",
  "..%2foutside%2fsecret.txt",
  "..%c0%afoutside%c0%afsecret.txt",
  "\\..\\outside\\secret.txt",
  "..\\/outside/secret.txt",
  "\u2025/outside/secret.txt",
  "\uff0e\uff0e/outside/secret.txt",
  "~/../outside/secret.txt",
  "$OUT/secret.txt",
  "`printf in.txt`",
  "file:///etc/passwd",
  "workspace:///../outside/secret.txt",
  "/proc/self/root/etc/passwd",
  "/proc/self/cwd",
  "/dev/stdin",
  "//etc/passwd",
  machinePath,
  "{{OUT}}/secret.txt",
  "\\\\?\\C:\\in.txt",
  "\\\\server\\share",
  "in.txt::$DATA",
  "IN~1.TXT",
  "in.txt\u0000.png",
  "in.txt\u202e",
  `${"a/".repeat(600)}in.txt`,
  "x".repeat(200_000),
  `${"../".repeat(2_000)}etc/passwd`,
];

const rows: readonly Row[] = [
  ...spellings.map((filename) => ({
    why: `no such spelling leads anywhere: ${JSON.stringify(filename.slice(0, 40))}`,
    tool: "file_read",
    args: { filename },
    accept: anyRefusal,
    ...ofCall(filename),
  })),
  ...spellings.slice(0, 23).map((filename) => ({
    why: `nor makes anything outside: ${JSON.stringify(filename)}`,
    tool: "file_move",
    args: { copy: true, filename: "in.txt", destination: filename, overwrite: true },
    // what is a plain name by the grammar may be made, inside
    accept: ["deny", "not_found", "ok"] as const,
  })),
  {
    why: "a search below a link that leaves",
    setup: linkOut,
    tool: "file_search",
    args: { path: "out", query: "TOPSECRET" },
    accept: ["deny"],
  },
  {
    why: "a search does not follow links on its way",
    setup: linkOut,
    tool: "file_search",
    args: { query: "TOPSECRET" },
    accept: ["ok"],
    notContains: ["secret.txt"],
  },
  {
    why: "a pattern cannot climb",
    setup: insideFile,
    tool: "file_search",
    args: { pattern: "../**" },
    accept: ["ok", "deny"],
    notContains: ["secret.txt"],
  },
  {
    why: "a listing's pattern cannot start at the root of the disk",
    setup: insideFile,
    tool: "file_list",
    args: { pattern: "/etc/*" },
    accept: ["ok", "deny"],
    notContains: ["passwd"],
  },
  {
    why: "a regular expression that makes backtracking engines hang",
    setup: "head -c 200000 /dev/zero | tr '\\0' a > in.txt",
    tool: "file_search",
    args: { query: "(a+)+$b", regex: true },
    accept: ["ok", "deny"],
  },
  {
    why: "a pattern of many stars against a long name",
    setup: "touch $(printf '%0250d' 0)",
    tool: "file_list",
    args: { pattern: `${"*0".repeat(60)}x` },
    accept: ["ok", "deny"],
  },
  {
    why: "moving a link that leaves moves the link alone, and it still leads nowhere",
    setup: linkOut,
    tool: "file_move",
    args: { filename: "out", destination: "other" },
    accept: ["ok"],
  },
  {
    why: "moving something into a directory behind a link that leaves",
    setup: linkOut,
    tool: "file_move",
    args: { filename: "in.txt", destination: "out/in.txt" },
    accept: ["deny"],
  },
  {
    why: "moving something out of a directory behind a link that leaves",
    setup: linkOut,
    tool: "file_move",
    args: { filename: "out/secret.txt", destination: "mine" },
    accept: ["deny"],
  },
  {
    why: "replacing a link that leaves by moving a file onto it",
    setup: "ln -s ../outside/secret.txt out; printf 'inside\\n' > in.txt",
    tool: "file_move",
    args: { filename: "in.txt", destination: "out", overwrite: true },
    accept: ["deny"],
  },
  {
    why: "copying through a link that leaves",
    setup: linkOut,
    tool: "file_move",
    args: { copy: true, filename: "out/secret.txt", destination: "mine" },
    accept: ["deny"],
  },
  {
    why: "copying onto a link that leaves",
    setup: "ln -s ../outside/secret.txt out; printf 'inside\\n' > in.txt",
    tool: "file_move",
    args: { copy: true, filename: "in.txt", destination: "out", overwrite: true },
    accept: ["deny"],
  },
  {
    why: "copying a pipe",
    setup: "mkfifo pipe",
    tool: "file_move",
    args: { copy: true, filename: "pipe", destination: "copy" },
    accept: ["deny"],
  },
  {
    why: "editing through a link that leaves",
    setup: "ln -s ../outside/secret.txt out",
    tool: "file_edit",
    args: { filename: "out", old_text: "TOPSECRET", new_text: "x" },
    accept: ["deny"],
  },
  {
    why: "editing a file outside that has a name inside",
    setup: 'ln "$SECRET" hard',
    tool: "file_edit",
    args: { filename: "hard", old_text: "TOPSECRET", new_text: "x" },
    accept: ["deny"],
  },
  {
    why: "adding to a file outside that has a name inside",
    setup: 'ln "$SECRET" hard',
    tool: "file_write",
    args: { filename: "hard", content: "x", mode: "append" },
    accept: ["deny"],
  },
  {
    why: "deleting a link that leaves deletes the link",
    setup: linkOut,
    tool: "file_delete",
    args: { filename: "out", recursive: true },
    accept: ["ok"],
  },
  {
    why: "deleting below a link that leaves",
    setup: linkOut,
    tool: "file_delete",
    args: { filename: "out/secret.txt" },
    accept: ["deny"],
  },
  {
    why: "deleting a tree with links that leave deletes nothing behind them",
    setup: "mkdir -p t/u; ln -s ../../outside t/out; ln -s / t/u/all",
    tool: "file_delete",
    args: { filename: "t", recursive: true },
    accept: ["ok"],
  },
  {
    why: "deleting the workspace itself",
    setup: insideFile,
    tool: "file_delete",
    args: { filename: ".", recursive: true },
    accept: ["deny"],
  },
  {
    why: "making a directory behind a link that leaves",
    setup: linkOut,
    tool: "file_move",
    args: { destination: "out/new" },
    accept: ["deny"],
  },
  {
    why: "making a directory through a dangling link that leaves",
    setup: "ln -s ../outside/new out",
    tool: "file_move",
    args: { destination: "out" },
    accept: ["deny"],
  },
  {
    why: "telling of a file behind a link that leaves",
    setup: linkOut,
    tool: "file_list",
    args: { path: "out", show: "details" },
    accept: ["deny"],
  },
  {
    why: "telling of a socket",
    setup: "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => \"s\", Listen => 1)' || mkfifo s",
    tool: "file_list",
    args: { show: "details" },
    accept: ["ok"],
  },
  {
    why: "of several files the one outside fails alone",
    setup: linkOut,
    tool: "file_read",
    args: { filename: "in.txt", files: ["out/secret.txt", "../outside/secret.txt", "{{OUT}}/secret.txt"] },
    accept: ["ok"],
    contains: ["inside"],
  },
  {
    why: "a directory that links to itself is walked once",
    setup: "mkdir d; ln -s . d/self; ln -s .. d/up; printf 'inside\\n' > d/in.txt",
    tool: "file_list",
    args: { path: ".", depth: 64 },
    accept: ["ok"],
    contains: ["  in.txt"],
    notContains: ["self/self"],
  },
  {
    why: "a link to itself may be read through as often as the system allows",
    setup: "mkdir d; ln -s . d/self; printf 'inside\\n' > d/in.txt",
    tool: "file_read",
    args: { filename: `d/${"self/".repeat(30)}in.txt` },
    accept: ["ok"],
    contains: ["inside"],
  },
  {
    why: "and no oftener",
    setup: "mkdir d; ln -s . d/self; printf 'inside\\n' > d/in.txt",
    tool: "file_read",
    args: { filename: `d/${"self/".repeat(41)}in.txt` },
    accept: ["deny"],
  },
  {
    why: "hooks of a repository are not written, however they are spelt",
    setup: "mkdir -p .git/hooks",
    tool: "file_write",
    args: { filename: ".GIT/hooks/pre-commit", content: "#!/bin/sh\n" },
    accept: ["deny"],
  },
  {
    why: "nor put in place by moving a directory",
    setup: "mkdir -p r/hooks; printf x > r/hooks/pre-commit",
    tool: "file_move",
    args: { filename: "r", destination: ".git" },
    accept: ["deny"],
  },
  {
    why: "nor reached through a link inside",
    setup: "mkdir -p .git/hooks; ln -s .git/hooks h",
    tool: "file_write",
    args: { filename: "h/pre-commit", content: "#!/bin/sh\n" },
    accept: ["deny"],
  },
];

/** The cases; each with a number of the group Q. */
export const furtherHostileCases: readonly HostileCase[] = rows.map((row, index) => ({
  setup: insideFile,
  ...row,
  id: `Q${String(index + 1).padStart(2, "0")}`,
}));
