/** A refusal of file_move, moving or copying, names the path that is in the way, and never the other. */
import assert from "node:assert/strict";
import { fileMoveTool } from "../../src/files/tools/file_move.ts";
import { type DiskWorkspaceOptions, openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { openStoreWorkspace } from "../../src/files/store/store_workspace.ts";
import { systemClock } from "../../src/lib/time.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { makeConfinedBase } from "../workspace/confined_base.ts";
import { at } from "../workspace/contract.ts";
import { failureOf } from "./with_workspace.ts";

type Settings = Pick<DiskWorkspaceOptions, "limits" | "access">;
type About = "source" | "destination" | "both";
type Case = readonly [from: string, to: string, code: string, about: About, options?: { overwrite: boolean }];

const settings: Settings = {
  access: { denied: ["*.pem", "/secret"], protected: [".git", "/held/inner"] },
  limits: { maxFileBytes: 100, maxWriteBytes: 200, maxTotalBytes: 400 },
};
const overwrite = { overwrite: true };
const deep = Array(70).fill("d").join("/");

const ofBoth: readonly Case[] = [
  ["none", "new", "not_found", "source"],
  ["d/none", "other", "not_found", "source"],
  ["a/below", "new", "not_a_directory", "source"],
  ["key.pem", "new", "denied_denied_name", "source"],
  ["secret/x", "new", "denied_denied_name", "source"],
  ["a", "b", "already_exists", "destination"],
  ["a", "d", "is_directory", "destination", overwrite],
  ["a", "b/below", "not_a_directory", "destination"],
  ["a", "key.pem", "denied_denied_name", "destination"],
  ["a", "new.pem", "denied_denied_name", "destination"],
  ["a", "secret/new", "denied_denied_name", "destination"],
  ["a", ".git/config", "denied_protected_name", "destination", overwrite],
  ["a", ".git/new", "denied_protected_name", "destination"],
  ["a", "d/x:y", "bad_name", "destination"],
  ["a", "con", "bad_name", "destination"],
  ["a", "trailing.", "bad_name", "destination"],
];
const ofMove: readonly Case[] = [
  [".", "new", "is_root", "source"],
  [".git/config", "new", "denied_protected_name", "source"],
  ["a", ".", "is_root", "destination"],
  ["a", "d", "already_exists", "destination"],
  ["d", "b", "already_exists", "destination", overwrite],
  ["d", "d/inner", "into_itself", "both"],
  ["held", "let-go", "denied_protected_name", "both"],
];
const ofCopy: readonly Case[] = [
  ["a", "d", "is_directory", "destination"],
  ["large", "new", "too_large", "source"],
  ["fits", "new", "quota", "destination"],
];
const onDisk: readonly Case[] = [
  ["outward", "new", "denied_outside_link", "source"],
  ["a", "outward/new", "denied_outside_link", "destination"],
  ["loop", "new", "denied_link_loop", "source"],
  ["a", "loop/new", "denied_link_loop", "destination"],
];
const inStore: readonly Case[] = [["a", deep, "too_deep", "destination"]];

for (const [kind, open, own] of [["disk", onDiskOpened, onDisk], ["store", inStoreOpened, inStore]] as const) {
  for (
    const [name, kindOfMove, cases] of [
      ["a move", { copy: false }, [
        ...ofBoth,
        ...ofMove,
        ...own.filter(([from]) => from !== "outward" && from !== "loop"),
      ]],
      ["a copy", { copy: true }, [...ofBoth, ...ofCopy, ...own]],
    ] as const
  ) {
    for (const [from, to, code, about, options] of cases) {
      const shownTo = to.length > 40 ? "a deep path" : to;
      Deno.test(`${kind}: ${name} of ${from} to ${shownTo} is refused (${code}), by its ${about}`, async () => {
        await using opened = await open();
        const failure = await failureOf(fileMoveTool(() => opened.workspace), {
          path: from,
          destination: to,
          ...kindOfMove,
          ...options,
        });
        assert.equal(failure.code, code, failure.message);
        const named = { source: from, destination: to, both: `${from} to ${to}` }[about];
        const end = code === "is_root" ? ": it is the workspace itself" : ` (${named})`;
        const withoutRemedy = failure.message.replace(/; did you mean [^?]+\?$/, "");
        assert.ok(withoutRemedy.endsWith(end), failure.message);
        assert.equal(/set overwrite/.test(failure.message), code === "already_exists", failure.message);
      });
    }
  }
}

interface Opened extends AsyncDisposable {
  readonly workspace: Workspace;
}

async function onDiskOpened(): Promise<Opened> {
  const scene = makeConfinedBase();
  const filling = openDiskWorkspace({ root: scene.root, access: { protected: [] } });
  await fill(filling);
  await filling.close();
  Deno.symlinkSync("../outside", `${scene.root}/outward`);
  Deno.symlinkSync("loop", `${scene.root}/loop`);
  const workspace = openDiskWorkspace({ root: scene.root, ...settings });
  return {
    workspace,
    async [Symbol.asyncDispose]() {
      await workspace.close();
      scene.remove();
    },
  };
}

async function inStoreOpened(): Promise<Opened> {
  const directory = Deno.makeTempDirSync();
  const storage = openSqliteStorage({ path: `${directory}/store.sqlite`, clock: systemClock });
  await fill(openStoreWorkspace({ storage, name: "shared", access: { protected: [] } }));
  const workspace = openStoreWorkspace({ storage, name: "shared", ...settings });
  return {
    workspace,
    async [Symbol.asyncDispose]() {
      await storage.close();
      Deno.removeSync(directory, { recursive: true });
    },
  };
}

async function fill(workspace: Workspace): Promise<void> {
  const contents = {
    "a": "a",
    "b": "b",
    "d/f": "f",
    "key.pem": "k",
    "secret/x": "x",
    ".git/config": "c",
    "held/inner/f": "f",
    "large": "l".repeat(150),
    "fits": "f".repeat(90),
    "rest": "r".repeat(150),
  };
  for (const [path, text] of Object.entries(contents)) {
    assert.ok((await workspace.write(at(path), new TextEncoder().encode(text))).ok);
  }
}
