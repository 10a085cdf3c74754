/** A worker that moves one entry of a workspace: `from` to `to` below `root`. */
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import { at } from "./contract.ts";

const { root, from, to } = Object.fromEntries(new URL(import.meta.url).searchParams);
const workspace = openDiskWorkspace({ root: root ?? "" });
const scope = globalThis as unknown as Pick<Worker, "postMessage">;
scope.postMessage("begins");
const moved = await workspace.move(at(from ?? ""), at(to ?? ""));
await workspace.close();
scope.postMessage(moved.ok ? "moved" : moved.error.reason);
