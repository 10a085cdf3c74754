/** A refusal of a path that is not there names the nearest that are, in every tool and both kinds of workspace. */
import assert from "node:assert/strict";
import { systemClock } from "../../src/lib/time.ts";
import type { Tool } from "../../src/mcp/tool.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { fileDeleteTool } from "../../src/files/tools/file_delete.ts";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileMoveTool } from "../../src/files/tools/file_move.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { beginLook, suggestNear } from "../../src/files/tools/near_names.ts";
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { openStoreWorkspace } from "../../src/files/store/store_workspace.ts";
import { makeConfinedBase } from "../workspace/confined_base.ts";
import { at } from "../workspace/contract.ts";
import { answerOf, failureOf } from "./with_workspace.ts";

const access = { denied: ["*.pem", "/hidden"] };
const composed = "caf\u00e9.md";
const files = [
  "README.md",
  "docs/guide.md",
  "packages/web/src/price.ts",
  "packages/api/src/price.ts",
  "packages/web/src/cart.tsx",
  "packages/web/report\u20132026.md",
  `notes/${composed.normalize("NFD")}`,
  "keys/server.pem",
  "hidden/secret.txt",
  "node_modules/lib/only_here.js",
  ".gitignore",
  "build/made.js",
  "plans/budget-2025.md",
  "plans/notes_2025.md",
  "archive/budget-2026.md",
];

const cases: readonly (readonly [given: string, suggested: string | null])[] = [
  ["readme.md", "README.md"],
  ["README", "README.md"],
  ["README.txt", "README.md"],
  ["REDME.md", "README.md"],
  ["Docs/Guide.md", "docs/guide.md"],
  ["doc/guide.md", "docs/guide.md"],
  ["packages/web/src/prices.ts", "packages/web/src/price.ts"],
  ["packages/web/src/cart.ts", "packages/web/src/cart.tsx"],
  ["packages/web/report-2026.md", "packages/web/report\u20132026.md"],
  ["src/price.ts", "packages/api/src/price.ts or packages/web/src/price.ts"],
  ["web/src/price.ts", "packages/web/src/price.ts or packages/api/src/price.ts"],
  ["old/place/guide.md", "docs/guide.md"],
  ["plans/budget-2026.md", "archive/budget-2026.md or plans/budget-2025.md"],
  ["plans/notes-2025.txt", "plans/notes_2025.md"],
  ["nothing-like-it.xyz", null],
  ["docs.md", null], // a directory is not read
  // as prose and addresses write them
  ['"docs/guide.md"', "docs/guide.md"],
  ["`docs/guide.md`", "docs/guide.md"],
  [" docs/guide.md ", "docs/guide.md"],
  ["@docs/guide.md", "docs/guide.md"],
  ["docs%2Fguide.md", "docs/guide.md"],
  ["packages/web/report%E2%80%932026.md", "packages/web/report\u20132026.md"],
  ['"keys/server.pem"', null],
  // what is denied or ignored is never named
  ["keys/serve.pdf", null],
  ["server.txt", null],
  ["secret.txt", null],
  ["hiden/secret.txt", null],
  ["only_here.js", null],
  ["made.js", null],
];

const absolutePaths: readonly (readonly [given: string, remedy: string])[] = [
  ["/README.md", "README.md"],
  ["/home/ada/shop/README.md", "README.md"],
  ["/home/ada/shop/packages/web/src/price.ts", "packages/web/src/price.ts"],
  ["C:\\Users\\ada\\shop\\docs\\guide.md", "docs/guide.md"],
  [`/home/ada/shop/notes/${composed}`, `notes/${composed.normalize("NFD")}`],
  ["/home/ada/none.md", "home/ada/none.md"],
  ["../shop/docs/guide.md", "docs/guide.md"],
  ["..\\docs\\guide.md", "docs/guide.md"],
  // what is denied is not there
  ["/home/ada/hidden/secret.txt", "home/ada/hidden/secret.txt"],
];

const tools: readonly (readonly [(source: () => Workspace) => Tool, (path: string) => unknown, words: RegExp])[] = [
  [fileReadTool, (filename) => ({ filename }), /^Failed to read file: no such file or directory \(/],
  [fileReadTool, (filename) => ({ filename, embed: true }), /^Failed to read file: no such file or directory \(/],
  [fileReadTool, (filename) => ({ filename: `${filename}:1-2` }), /^Failed to read file: no such file or directory \(/],
  [fileListTool, (path) => ({ path }), /^Failed to list directory: no such file or directory \(/],
  [fileSearchTool, (path) => ({ path, query: "x" }), /^Failed to search: no such file or directory \(/],
  [
    fileEditTool,
    (path) => ({ path, old_text: "a", new_text: "b" }),
    /^Failed to edit file: no such file or directory \(/,
  ],
  [fileMoveTool, (path) => ({ path, destination: "new" }), /^Failed to move: no such file or directory \(/],
  [fileMoveTool, (path) => ({ path, destination: "new", copy: true }), /^Failed to copy: no such file or directory \(/],
  [fileDeleteTool, (path) => ({ path }), /^Failed to delete: no such file or directory \(/],
];

type Opened = { readonly workspace: Workspace; close(): Promise<void> };

const kinds: Readonly<Record<string, () => Promise<Opened>>> = {
  async disk() {
    const { root, remove } = makeConfinedBase();
    await fill(openDiskWorkspace({ root }));
    const workspace = openDiskWorkspace({ root, access });
    return {
      workspace,
      async close() {
        await workspace.close();
        remove();
      },
    };
  },
  async store() {
    const directory = await Deno.makeTempDir();
    const storage = openSqliteStorage({ path: `${directory}/store.sqlite`, clock: systemClock });
    await fill(openStoreWorkspace({ storage, name: "shared" }));
    const workspace = openStoreWorkspace({ storage, name: "shared", access });
    return {
      workspace,
      async close() {
        await workspace.close();
        await storage.close();
        await Deno.remove(directory, { recursive: true });
      },
    };
  },
};

async function fill(workspace: Workspace): Promise<void> {
  for (const name of files) {
    const text = name === ".gitignore" ? "build/\n" : "x\n";
    const written = await workspace.write(at(name), new TextEncoder().encode(text));
    assert.ok(written.ok, name);
  }
  await workspace.close();
}

for (const [kind, open] of Object.entries(kinds)) {
  Deno.test(`a path that is not there brings the nearest that are: ${kind}`, async () => {
    const { workspace, close } = await open();
    try {
      for (const [given, suggested] of cases) {
        const end = suggested === null ? "" : `; did you mean ${suggested}?`;
        const words = `Failed to read file: no such file or directory (${given})${end}`;
        let { code, message } = await failureOf(fileReadTool(() => workspace), { filename: given });
        for (let more = 5; more > 0 && message !== words; more--) { // looking may take 300 ms, which a busy machine uses up
          ({ code, message } = await failureOf(fileReadTool(() => workspace), { filename: given }));
        }
        assert.deepEqual({ code, message }, { code: "not_found", message: words });
      }
      for (
        const [filename, remedy] of [
          ["docs/guide.md/", "did you mean docs/guide.md?"],
          ["docs/", "docs is a directory: name a file in it"],
          [".", ". is a directory: name a file in it"],
          ["hidden/secret.txt/", "a file name does not end in a slash"],
        ] as const
      ) {
        const { message } = await failureOf(fileReadTool(() => workspace), { filename });
        assert.ok(message.endsWith(remedy), message);
      }
      const { message } = await failureOf(fileReadTool(() => workspace), {
        filename: `Notes/${composed.toUpperCase()}`,
      });
      assert.match(message, /did you mean notes\//);
    } finally {
      await close();
    }
  });

  Deno.test(`several paths, or parts of a file, in one text are told apart, by every file tool: ${kind}`, async () => {
    const { workspace, close } = await open();
    try {
      for (
        const [given, several] of [
          ["docs/guide.md,README.md", "docs/guide.md and README.md"],
          ["docs/guide.md; README.md;docs", "docs/guide.md and README.md and docs"],
          ["docs/guide.md README.md", "docs/guide.md and README.md"],
          ["docs/guide.md:1-2,README.md", "docs/guide.md:1-2 and README.md"],
          ["docs/guide.md:1-2,5-6", "docs/guide.md:1-2 and docs/guide.md:5-6"],
          ["docs/guide.md:1-2,5,L7-L8", "docs/guide.md:1-2 and docs/guide.md:5 and docs/guide.md:L7-L8"],
        ] as const
      ) {
        for (const [tool, input] of tools) {
          const { message } = await failureOf(tool(() => workspace), input(given));
          assert.ok(message.includes(`; this is more than one path: ${several}`), message);
        }
        for (const path of several.split(" and ").filter((each) => each.includes(".md"))) {
          await answerOf(fileReadTool(() => workspace), { filename: path });
        }
      }
      for (const given of ["docs/guide.md,none.md", "README.md,keys/server.pem", ",".repeat(50), "README.md,"]) {
        const { message } = await failureOf(fileReadTool(() => workspace), { filename: given });
        assert.doesNotMatch(message, /more than one/, given);
      }
    } finally {
      await close();
    }
  });

  Deno.test(`an absolute path is refused with the end of it that is there, by every file tool: ${kind}`, async () => {
    const { workspace, close } = await open();
    try {
      for (const [given, remedy] of absolutePaths) {
        const { message } = await failureOf(fileReadTool(() => workspace), { filename: given });
        assert.equal(
          message,
          `Invalid filename - path traversal not allowed; paths are relative to the workspace: ${remedy}`,
        );
      }
      for (const [make, input] of tools.filter((_, index) => index !== 1)) {
        const { message } = await failureOf(make(() => workspace), input("/home/ada/shop/docs/guide.md"));
        assert.match(message, /- path traversal not allowed; paths are relative to the workspace: docs\/guide\.md$/);
      }
    } finally {
      await close();
    }
  });

  Deno.test(`a tool of files alone suggests no directory, every other does: ${kind}`, async () => {
    const { workspace, close } = await open();
    try {
      const inputs = [...tools, [
        fileReadTool,
        (filename: string) => ({ filename, against: "README.md" }),
        /^Failed to compare/,
      ], [
        fileReadTool,
        (against: string) => ({ filename: "README.md", against }),
        /^Failed to compare/,
      ]] as const;
      for (const [make, input, words] of inputs) {
        const { message } = await failureOf(make(() => workspace), input("doc"));
        assert.match(message, words);
        const isOfFiles = make === fileReadTool || make === fileEditTool;
        assert.equal(/; did you mean docs\?$/.test(message), !isOfFiles, message);
      }
    } finally {
      await close();
    }
  });

  Deno.test(`every file tool names the nearest path, after the words it always had: ${kind}`, async () => {
    const { workspace, close } = await open();
    try {
      for (const [make, input, words] of tools) {
        const { message } = await failureOf(make(() => workspace), input("doc/guide.md"));
        assert.match(message, words);
        assert.match(message, /; did you mean docs\/guide\.md\?$/);
      }
    } finally {
      await close();
    }
  });
}

Deno.test("one of several files that is not there is named with the nearest, and the others are read", async () => {
  const { workspace, close } = await (kinds["disk"] ?? assert.fail)();
  try {
    const { texts } = await answerOf(fileReadTool(() => workspace), {
      filename: "docs/guide.md",
      files: ["readme.md"],
    });
    assert.ok(texts.some((text) => /\(readme\.md\); did you mean README\.md\?/.test(text)), texts.join("\n"));
  } finally {
    await close();
  }
});

Deno.test("on a machine so busy that each step takes 20 ms a near name is found all the same", async () => {
  const { workspace, close } = await (kinds["store"] ?? assert.fail)();
  try {
    let now = 0;
    const failure = { code: "not_found", message: "No" };
    const look = beginLook(() => now += 20);
    const { message } = await suggestNear(workspace, at("src/price.ts"), failure, { look });
    assert.equal(message, "No; did you mean packages/api/src/price.ts or packages/web/src/price.ts?");
  } finally {
    await close();
  }
});

Deno.test("the look for near names ends with its time and its steps", async () => {
  let listings = 0;
  const endless = Array.from({ length: 1_000 }, (_, index) => ({ name: `d${index}`, kind: "directory" as const }));
  const { workspace, close } = await (kinds["store"] ?? assert.fail)();
  const large: Workspace = {
    ...workspace,
    stat: () => ({ ok: false, error: { reason: "not_found" } }),
    list() {
      listings++;
      return Promise.resolve({ ok: true, value: { entries: endless, hasMore: true } });
    },
  };
  const failure = { code: "not_found", message: "No" };
  try {
    assert.deepEqual(await suggestNear(large, at("zzzzzzzzzzzz"), failure), failure);
    assert.ok(listings < 100, `${listings} listings`);
    let now = 0;
    listings = 0;
    assert.deepEqual(
      await suggestNear(large, at("zzzzzzzzzzzz"), failure, { look: beginLook(() => now += 4_000) }),
      failure,
    );
    assert.ok(listings <= 2, `${listings} listings`);
    const look = beginLook(() => 0);
    listings = 0;
    const lookIn = async (name: number) =>
      assert.deepEqual(await suggestNear(large, at(`d${name}/${"z".repeat(12)}`), failure, { look }), failure);
    for (let name = 0; name < 50; name++) await lookIn(name);
    assert.ok(listings < 100, `${listings} listings`);
    listings = 0;
    await lookIn(50);
    assert.equal(listings, 0, "the steps are for all names of a call together");
    const deep = at(Array(40).fill("d").join("/"));
    listings = 0;
    assert.deepEqual(await suggestNear(large, deep, failure), failure);
    assert.equal(listings, 0);
  } finally {
    await close();
  }
});
