/** One workspace for each user, opened when they first need it. */
import type { Principal } from "../../lib/principal.ts";
import { sha256Of } from "../../lib/secrets.ts";
import { newNameProblem } from "./path.ts";
import type { Workspace } from "./port.ts";

/**
 * Opens workspaces by `open`, which gets a name that is safe as a directory and different for each user: their id when
 * that is plain, and otherwise a hash of it.
 */
export function createUserWorkspaces(open: (name: string) => Workspace) {
  const opened = new Map<string, Workspace>();
  return {
    /** The workspace of the principal's user, whatever client they use. */
    of({ subject }: Principal): Workspace {
      const name = userDirectoryName(subject);
      let workspace = opened.get(name);
      if (workspace === undefined) {
        workspace = open(name);
        opened.set(name, workspace);
      }
      return workspace;
    },
    /** The open ones. */
    opened: (): Iterable<Workspace> => opened.values(),
    /** Closes all that were opened. */
    async close(): Promise<void> {
      await Promise.all(Array.from(opened.values(), (workspace) => workspace.close()));
      opened.clear();
    },
  };
}

/** The name of a user's directory. Small letters only, so that it stays different where file systems fold case. */
export function userDirectoryName(subject: string): string {
  const isPlain = /^[a-z0-9][a-z0-9_-]{0,63}$/.test(subject) && newNameProblem(subject) === null &&
    !subject.startsWith(hashPrefix);
  return isPlain ? subject : `${hashPrefix}${sha256Of(subject).toHex().slice(0, 40)}`;
}

const hashPrefix = "user-";
