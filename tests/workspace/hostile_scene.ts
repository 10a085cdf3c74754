/** Sets hostile cases up: their directory, what their arguments stand for, and a copy of it all in a storage. */
import assert from "node:assert/strict";
import type { Storage } from "../../src/storage/port.ts";
import { parseFilePath } from "../../src/files/workspace/path.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { openStoreWorkspace } from "../../src/files/store/store_workspace.ts";
import type { ConfinedBase } from "./confined_base.ts";

/** Runs a case's setup in the workspace's directory. */
export async function runSetup(script: string, scene: ConfinedBase): Promise<void> {
  const { success, stderr } = await new Deno.Command("sh", {
    args: ["-c", script],
    cwd: scene.root,
    env: { W: scene.root, OUT: scene.outside, SECRET: scene.secret, BASE: scene.base },
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}

/** A case's arguments with the scene's paths in them. */
export function fillIn(args: unknown, scene: ConfinedBase): unknown {
  const values: Record<string, string> = {
    W: scene.root,
    OUT: scene.outside,
    SECRET: scene.secret,
    BASE: scene.base,
    WNAME: "ws",
  };
  const fill = (value: unknown): unknown => {
    if (typeof value === "string") return value.replace(/\{\{(\w+)\}\}/g, (whole, name) => values[name] ?? whole);
    if (Array.isArray(value)) return value.map(fill);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, fill(member)]));
  };
  return fill(args);
}

/** The shared workspace of a storage without any protection, to fill and to empty it. */
export function openUnprotected(storage: Storage): Workspace {
  return openStoreWorkspace({ storage, name: "shared", access: { protected: [] } });
}

/** Copies the files and directories below `root`; `false` when there is something that the store does not have. */
export async function copyIntoStore(storage: Storage, root: string): Promise<boolean> {
  const workspace = openUnprotected(storage);
  let isFaithful = true;
  const copy = async (names: readonly string[]): Promise<void> => {
    for (const { name } of Deno.readDirSync([root, ...names].join("/"))) {
      const path = parseFilePath([...names, name].join("/"));
      const info = name.includes("\ufffd") ? null : Deno.lstatSync([root, ...names, name].join("/"));
      const isPlain = info !== null && path.ok && (info.isDirectory || info.isFile && info.nlink === 1) &&
        ((info.mode ?? 0) & 0o222) !== 0 && info.size < workspace.limits.maxWriteBytes;
      const copied = !isPlain
        ? null
        : info.isDirectory
        ? await workspace.makeDirectory(path.value)
        : await workspace.write(path.value, Deno.readFileSync([root, ...names, name].join("/")));
      if (copied === null || !copied.ok) isFaithful = false;
      else if (info?.isDirectory) await copy([...names, name]);
    }
  };
  await copy([]);
  await workspace.close();
  return isFaithful;
}
