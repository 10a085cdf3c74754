/** A workspace of several directories passes the contract in each of them. */
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import type { Change } from "../../src/files/workspace/change.ts";
import { joinWorkspaces } from "../../src/files/workspace/joined_workspace.ts";
import type { WorkspacePath } from "../../src/files/workspace/path.ts";
import { defaultWorkspaceLimits, type Outcome, type Trash, type Workspace } from "../../src/files/workspace/port.ts";
import { makeConfinedBase } from "./confined_base.ts";
import { type OpenWorkspace, testWorkspaceContract } from "./contract.ts";
import { testTrashContract } from "./trash_contract.ts";
import { diskModes } from "./disk_modes.ts";

for (const { name, kernel } of diskModes) {
  const open: OpenWorkspace = (settings) => {
    const scenes = { one: makeConfinedBase(), two: makeConfinedBase() };
    const directories = Object.entries(scenes).map(([name, { root }]) => {
      const workspace = openDiskWorkspace({ root, kernel, ...settings });
      return { name, isReadOnly: false, open: () => workspace, close: () => workspace.close() };
    });
    const limits = { ...defaultWorkspaceLimits, ...settings.limits };
    const workspace = joinWorkspaces(directories, { limits, clock: settings.clock ?? Date.now });
    return Promise.resolve({
      workspace: below("one", workspace),
      rename: (from, to) => Deno.rename(`${scenes.one.root}/${from}`, `${scenes.one.root}/${to}`),
      async dispose() {
        await workspace.close();
        for (const scene of Object.values(scenes)) scene.remove();
      },
    });
  };
  testWorkspaceContract(`joined workspace, ${name}`, open);
  testTrashContract(`joined workspace, ${name}`, open);
}

/** What a caller sees who puts the same name before each path. */
function below(name: string, workspace: Workspace): Workspace {
  const down = ({ segments }: WorkspacePath): WorkspacePath => ({
    text: [name, ...segments].join("/"),
    segments: [name, ...segments],
  });
  const up = (text: string): string => text === name ? "" : text.slice(name.length + 1);
  /** The workspace itself is a directory of the joined one. */
  const own = <T>(outcome: T): T => {
    const result = outcome as Outcome<unknown>;
    if (result.ok || result.error.reason !== "denied" || result.error.because !== "top_level") return outcome;
    return { ok: false, error: { ...result.error, reason: "is_root" } } as T;
  };
  const upChange = (change: Change | null): Change | null =>
    change && {
      ...change,
      steps: change.steps.map(({ number, step }) => ({
        number,
        step: { ...step, path: up(step.path), ...step.op === "move" && { from: up(step.from) } },
      })),
    };
  const { trash } = workspace;
  const upTrash = (own: Trash): Trash => ({
    ...own,
    async *changes() {
      for await (const change of own.changes()) yield upChange(change) ?? change;
    },
    find: async (id) => upChange(await own.find(id)),
    isAsLeft: (path, left) => own.isAsLeft(down(path), left),
    restore: (item, path, left) => own.restore(item, down(path), left),
    cutBack: (path, size, left) => own.cutBack(down(path), size, left),
  });
  return {
    limits: workspace.limits,
    read: (path, ...rest) => workspace.read(down(path), ...rest),
    readInto: (path, ...rest) => workspace.readInto(down(path), ...rest),
    stat: (path) => workspace.stat(down(path)),
    trueNames(path) {
      const names = workspace.trueNames(down(path));
      return names.ok ? { ok: true, value: names.value.map(up) } : names;
    },
    list: (path, options) => workspace.list(down(path), options),
    write: (path, ...rest) => workspace.write(down(path), ...rest),
    receive: (path, ...rest) => workspace.receive(down(path), ...rest),
    copy: async (from, to, options) => own(await workspace.copy(down(from), down(to), options)),
    move: async (from, to, options) => own(await workspace.move(down(from), down(to), options)),
    remove: async (path, options) => own(await workspace.remove(down(path), options)),
    makeDirectory: (path, options) => workspace.makeDirectory(down(path), options),
    trash: trash === null ? null : upTrash(trash),
    begin: (...change) => below(name, workspace.begin(...change)),
    close: () => workspace.close(),
  };
}
