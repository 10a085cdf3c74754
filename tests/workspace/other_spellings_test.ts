/**
 * Names that are kept from callers, by other spellings, on the file system that there is: those of macOS and Windows
 * find entries by some of them. On one where spellings are exact, the rules alone refuse all but 8.3 names.
 */
import assert from "node:assert/strict";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { fingerprintTree } from "./confined_base.ts";
import { at } from "./contract.ts";
import { openDiskWorkspace, testInEachMode } from "./disk_modes.ts";

const bytes = new TextEncoder().encode("agent");

const spellings: Readonly<Record<string, readonly string[]>> = {
  ".git": [".git", ".GIT", "GIT~1", ".git.", ".git ", ".git::$INDEX_ALLOCATION", ".g\u200cit", ".\uff47it"],
  "secrets-2026": [
    "secrets-2026",
    "Secrets-2026",
    "SECRET~1",
    "\u017fecrets-2026",
    "secrets-2026.",
    "secrets-2026::$INDEX_ALLOCATION",
  ],
  "caf\u00e9": ["caf\u00e9", "cafe\u0301", "CAFE\u0301"],
};

const changes: Readonly<Record<string, (workspace: Workspace, name: string) => Promise<{ readonly ok: boolean }>>> = {
  write: (workspace, name) => workspace.write(at(`${name}/f`), bytes),
  "write below": (workspace, name) => workspace.write(at(`${name}/new/f`), bytes),
  append: (workspace, name) => workspace.write(at(`${name}/f`), bytes, { mode: "append" }),
  "copy in": (workspace, name) => workspace.copy(at("own"), at(`${name}/f`), { overwrite: true }),
  "move in": (workspace, name) => workspace.move(at("own"), at(`${name}/f`), { overwrite: true }),
  "move out": (workspace, name) => workspace.move(at(`${name}/f`), at("out")),
  "move away": (workspace, name) => workspace.move(at(name), at("away")),
  remove: (workspace, name) => workspace.remove(at(`${name}/f`)),
  "remove all": (workspace, name) => workspace.remove(at(name), { recursive: true }),
  "make a directory": (workspace, name) => workspace.makeDirectory(at(`${name}/d`)),
};

for (const [kept, name] of Object.entries(spellings).flatMap(([kept, names]) => names.map((name) => [kept, name]))) {
  testInEachMode(
    `${kept} is neither changed nor, where it is denied, read by the spelling ${JSON.stringify(name)}`,
    async () => {
      const root = Deno.realPathSync(await Deno.makeTempDir({ prefix: "portcullis-" }));
      const access = { denied: ["secrets-2026", "caf\u00e9"], protected: [".git"] };
      const workspace = openDiskWorkspace({ root, access });
      try {
        await Deno.mkdir(`${root}/${kept}`);
        await Deno.writeTextFile(`${root}/${kept}/f`, "kept");
        await Deno.writeTextFile(`${root}/own`, "own");
        const isThere = await Deno.lstat(`${root}/${name}`).then(() => true, () => false);
        if (name?.includes("~") && !isThere) return; // here, an 8.3 name is a name like any other
        const before = fingerprintTree(`${root}/${kept}`);
        for (const [what, change] of Object.entries(changes)) {
          assert.equal((await change(workspace, name ?? "")).ok, false, what);
        }
        assert.equal(fingerprintTree(`${root}/${kept}`), before);
        assert.equal(await Deno.readTextFile(`${root}/own`), "own");
        if (kept === ".git") return;
        const reads = [
          workspace.read(at(`${name}/f`)),
          workspace.stat(at(`${name}/f`)),
          workspace.list(at(name ?? "")),
        ];
        for (const read of await Promise.all(reads)) assert.equal(read.ok, false);
      } finally {
        await workspace.close();
        await Deno.remove(root, { recursive: true });
      }
    },
  );
}
