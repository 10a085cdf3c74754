/** Names that agents may not use, asked for by other spellings of them, where the file system knows these too. */
import assert from "node:assert/strict";
import { type FileServer, withFileServer } from "../fixtures/file_server.ts";
import { foldingSkipped, withFoldingMount } from "../fixtures/folding_mount.ts";
import { fingerprintTree } from "../workspace/confined_base.ts";

const kept = "what agents must not see or change";

/** Other spellings of a directory's name, of a file in it, and of both. */
const spellings = {
  ".git/config": [
    ".GIT/config",
    "GIT~1/config",
    "git~1/config",
    ".git./config",
    ".git /config",
    ".git. . /config",
    ".git::$INDEX_ALLOCATION/config",
    ".git:$i30:$INDEX_ALLOCATION/config",
    ".g\u200cit/config",
    "\u2060.git/config",
    ".g\u00adit/config",
    ".\uff47it/config",
    ".g\u0131t/config",
  ],
  "secrets-2026/a.txt": [
    "Secrets-2026/a.txt",
    "SECRET~1/a.txt",
    "secret~1/A.TXT",
    "secrets-2026./a.txt",
    "\u017fecrets-2026/a.txt",
    "secret\u017f-2026/a.txt",
    "secrets-2026::$INDEX_ALLOCATION/a.txt",
    "s\ufeffecrets-2026/a.txt",
  ],
  "keys/server.pem": [
    "keys/SERVER.PEM",
    "keys/server.pem.",
    "keys/server.pem ",
    "keys/server.pem::$DATA",
    "keys/SERVER~1.PEM",
    "keys/server.p\u200dem",
    "KEYS/Server.Pem",
  ],
  "caf\u00e9/menu.txt": ["cafe\u0301/menu.txt", "CAFE\u0301/menu.txt", "CAF\u00c9/menu.txt", "CAF~1/menu.txt"],
  ".portcullis/left": [
    ".Portcullis/left",
    "PORTCU~1/left",
    ".portculli\u017f/left",
    ".portcullis./left",
    ".portcullis::$INDEX_ALLOCATION/left",
    ".port\u200bcullis/left",
  ],
} as const;

const fill = [
  "mkdir -m 700 .portcullis",
  ...Object.keys(spellings).flatMap((path) => [
    `mkdir -p '${path.slice(0, path.indexOf("/"))}'`,
    `printf '${kept}' > '${path}'`,
  ]),
  "mkdir Docs",
  "printf readable > Docs/ReadMe.txt",
].join("; ");

type Attempt = readonly [string, Record<string, unknown>, "reads" | "changes"];

/** Everything that a caller can do with a file of a kept name, or in a directory of one. */
function attempts(path: string): readonly Attempt[] {
  return [
    ["file_read", { filename: path }, "reads"],
    ["file_move", { copy: true, filename: path, destination: "stolen" }, "reads"],
    ["file_write", { filename: path, content: "agent" }, "changes"],
    ["file_write", { filename: path, content: "agent", mode: "append" }, "changes"],
    ["file_edit", { filename: path, old_text: "agents", new_text: "nobody" }, "changes"],
    ["file_move", { copy: true, filename: "Docs/ReadMe.txt", destination: path, overwrite: true }, "changes"],
    ["file_move", { filename: "Docs/ReadMe.txt", destination: path, overwrite: true }, "changes"],
    ["file_move", { filename: path, destination: "stolen" }, "changes"],
    ["file_delete", { filename: path }, "changes"],
  ];
}

/** Everything that a caller can do with a directory of a kept name. */
function directoryAttempts(path: string): readonly Attempt[] {
  return [
    ["file_list", { path }, "reads"],
    ["file_search", { path, query: "agents" }, "reads"],
    ["file_write", { filename: `${path}/new`, content: "agent" }, "changes"],
    ["file_write", { filename: `${path}/new/deep`, content: "agent" }, "changes"],
    ["file_move", { filename: path, destination: "stolen" }, "changes"],
    ["file_move", { filename: "Docs", destination: `${path}/docs` }, "changes"],
    ["file_delete", { filename: path, recursive: true }, "changes"],
    ["file_move", { destination: `${path}/new` }, "changes"],
  ];
}

/** The workspace as the server's own mounts show it. */
function seenBy({ server, root }: FileServer): string {
  return `/proc/${server.pid}/root${root}`;
}

Deno.test({
  name: `kept names are out of reach by any spelling that the file system takes for them${foldingSkipped ?? ""}`,
  ignore: foldingSkipped !== null,
  fn: () =>
    withFileServer({
      launcher: withFoldingMount(fill),
      env: { WORKSPACE_DENY: "secrets-2026,*.pem,caf\u00e9" },
    }, async (files) => {
      const place = seenBy(files);
      assert.equal(Deno.lstatSync(`${place}/GIT~1`).ino, Deno.lstatSync(`${place}/.git`).ino, "it does not fold names");
      const before = fingerprintTree(place);
      for (const [path, others] of Object.entries(spellings)) {
        // a protected name may be read; by a name that no listing shows, it is not
        const mayRead = path.startsWith(".git/");
        const isDirectoryKept = !path.startsWith("keys/");
        for (const other of [path, ...others]) {
          const directory = other.slice(0, other.lastIndexOf("/"));
          for (
            const [tool, input, kind] of [...attempts(other), ...isDirectoryKept ? directoryAttempts(directory) : []]
          ) {
            if (kind === "reads" && mayRead) continue;
            const what = `${tool} ${JSON.stringify(input)}`;
            const answer = await files.call(tool, input);
            assert.ok(!answer.ok, `${what}: ${answer.text}`);
            assert.ok(!answer.text.includes(kept), what);
          }
        }
      }
      assert.equal(fingerprintTree(place), before);
    }),
});

Deno.test({
  name: `a file answers to another case of its name where the file system does, and keeps its own name${
    foldingSkipped ?? ""
  }`,
  ignore: foldingSkipped !== null,
  fn: () =>
    withFileServer({ launcher: withFoldingMount(fill) }, async (files) => {
      const { done, refused } = files;
      assert.equal((await done("file_read", { filename: "DOCS/readme.TXT" })).structured["content"], "readable");
      await done("file_write", { filename: "docs/README.txt", content: "written" });
      await done("file_move", { copy: true, filename: "docs/readme.txt", destination: "docs/Copy.txt" });
      assert.match(await refused("file_move", { filename: "docs", destination: "DOCS/inner" }), /into itself/);
      assert.match(await refused("file_read", { filename: "docs/readme.txt::$DATA" }), /another name/);
      await done("file_delete", { filename: "docs/COPY.TXT" });
      const place = seenBy(files);
      assert.deepEqual(Array.from(Deno.readDirSync(`${place}/Docs`), ({ name }) => name), ["ReadMe.txt"]);
      assert.equal(Deno.readTextFileSync(`${place}/Docs/ReadMe.txt`), "written");
    }),
});
