/**
 * Notices of the changes that this process makes itself, for workspaces that no system watches. What other processes
 * change there is not seen.
 */
import { type AccessPatterns, createAccessRules } from "./access_rules.ts";
import { type ChangeNotices, createChangeNotices } from "./change_notices.ts";
import type { WorkspacePath } from "./path.ts";
import type { Outcome, Workspace } from "./port.ts";
import type { WatchWorkspace } from "./watch.ts";

/** The changes of several workspaces, by the workspaces' names. */
export interface OwnChanges {
  /** The same workspace; what is changed through it is told to those who watch the name. */
  tellOf(name: string, workspace: Workspace): Workspace;
  /** A way to watch the workspace of this name. */
  watchOf(name: string): WatchWorkspace;
}

/** How changes are told. */
export interface OwnChangesOptions {
  /** Changes within this time are told together. */
  readonly coalesceMilliseconds: number;
  /** More changed paths than this at once are told as partial. */
  readonly maxPaths: number;
  /** Names that are kept from callers: nothing is told of them. */
  readonly access?: AccessPatterns;
}

/** Makes the connection between workspaces and those who watch them. */
export function createOwnChanges({ coalesceMilliseconds, maxPaths, access }: OwnChangesOptions): OwnChanges {
  const { isDenied } = createAccessRules(access);
  const watches = new Map<string, Set<ChangeNotices>>();

  const tell = (name: string, paths: readonly WorkspacePath[], isListChanged: boolean): void => {
    for (const notices of watches.get(name) ?? []) {
      notices.addAll(paths.map(({ segments }) => segments));
      if (isListChanged && !paths.every(({ segments }) => isDenied(segments))) notices.addListChange();
    }
  };
  return {
    tellOf(name, workspace) {
      const told = async <T>(
        changing: Promise<Outcome<T>>,
        paths: readonly WorkspacePath[],
        isListChange: (value: T) => boolean,
      ): Promise<Outcome<T>> => {
        const outcome = await changing;
        if (outcome.ok) tell(name, paths, isListChange(outcome.value));
        return outcome;
      };
      return {
        ...workspace,
        write: (path, bytes, options) => told(workspace.write(path, bytes, options), [path], ({ created }) => created),
        copy: (from, to, options) => told(workspace.copy(from, to, options), [to], ({ created }) => created),
        move: (from, to, options) => told(workspace.move(from, to, options), [from, to], () => true),
        remove: (path, options) => told(workspace.remove(path, options), [path], () => true),
        makeDirectory: (path) => told(workspace.makeDirectory(path), [path], () => false),
      };
    },
    watchOf: (name) => (onChange) => {
      const notices = createChangeNotices({ maxPaths, coalesceMilliseconds, isDenied, onChange });
      const own = watches.get(name) ?? new Set();
      watches.set(name, own.add(notices));
      return {
        close() {
          notices.close();
          own.delete(notices);
          if (own.size === 0 && watches.get(name) === own) watches.delete(name);
          return Promise.resolve();
        },
      };
    },
  };
}
