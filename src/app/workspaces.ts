/** The workspaces that a configuration names: one for all or one for each user, on a disk or in the storage. */
import {
  createUserWorkspaces,
  defaultWorkspaceLimits,
  entryPath,
  type JoinedDirectory,
  joinWorkspaces,
  loadStoreWorkspace,
  maxTrashBytes,
  openDiskWorkspace,
  rootPath,
  userDirectoryName,
  type Workspace,
  type WorkspaceSource,
} from "../files/mod.ts";
import { pathBelow } from "../lib/system_path.ts";
import type { Config } from "./config/config.ts";
import type { WorkspaceDirectory } from "./config/directories.ts";
import { failure, type Result, UnusableError } from "../lib/result.ts";
import { systemCode } from "../lib/system_fault.ts";
import type { Parts } from "./installation.ts";
import { createParallelShare, whenAnswersAreRead } from "../lib/turns.ts";
import { shareKey } from "../lib/principal.ts";
import type { ResourceFamily, Tool, ToolContext, ToolOutcome } from "../mcp/mod.ts";

type WorkspaceSettings = Config["workspace"];

/** One workspace for all, or one for each user, opened at the first use. */
export async function openWorkspaces(settings: WorkspaceSettings, parts: Parts) {
  const open = await workspaceOpener(settings, parts);
  const users = createUserWorkspaces(open);
  const shared = settings.sharing === "shared" ? open(null) : null;
  const opened = (): readonly Workspace[] => shared === null ? [...users.opened()] : [shared];
  /** With a token for some directories these alone, and nothing of a workspace that has none by now. */
  const source: WorkspaceSource = (principal) => {
    const workspace = shared ?? users.of(principal);
    const { directories } = principal;
    if (directories === undefined) return workspace;
    return workspace.only?.(directories) ?? joinWorkspaces([], { limits: workspace.limits, clock: parts.clock });
  };
  return {
    source,
    /** Whether the shared workspace, or of those for each user any that is open, can be reached. */
    async isThere(): Promise<boolean> {
      for (const workspace of opened()) if (await isThere(workspace)) return true;
      return opened().length === 0;
    },
    /** Drops what at `now` is kept for too long. */
    async tidy(now: number): Promise<void> {
      for (const { trash } of opened()) await trash?.tidy(now);
    },
    close: (): Promise<void> => (shared ?? users).close(),
  };
}

/** Of several directories, whether any is. A lost storage is not a lost workspace: its own probe reports it. */
async function isThere(workspace: Workspace): Promise<boolean> {
  const named = workspace.only === undefined ? null : await workspace.list(rootPath);
  const paths = named?.ok ? named.value.entries.map(({ name }) => entryPath(rootPath, name)) : [rootPath];
  const looks = paths.map((path) => Promise.resolve(workspace.stat(path)).then(({ ok }) => ok, () => true));
  return (await Promise.all(looks)).includes(true);
}

/** Opens the shared workspace (`null`) or the one of a user's directory name, where the configuration says. */
export async function workspaceOpener(
  settings: WorkspaceSettings,
  { storage, clock, bounds, kernel }: Pick<Parts, "storage" | "clock" | "kernel"> & Partial<Pick<Parts, "bounds">>,
): Promise<(directory: string | null) => Workspace> {
  const { maxWriteBytes, quotaBytes = null, trashKeepMs, deniedNames = [] } = settings;
  const limits = { ...defaultWorkspaceLimits, maxWriteBytes, maxTotalBytes: quotaBytes, ...bounds?.workspace };
  const trash = { keepMs: trashKeepMs, maxBytes: maxTrashBytes };
  const access = { denied: deniedNames };
  if (settings.store === "storage") {
    const { openStoreWorkspace } = await loadStoreWorkspace();
    // A colon is in no directory name: no user's workspace is ever the shared one (`null`).
    const nameOf = (directory: string | null): string => directory === null ? "shared" : `user:${directory}`;
    return (directory) => openStoreWorkspace({ storage, name: nameOf(directory), limits, access, clock, trash });
  }
  const options = { limits, clock, ...kernel?.available ? { kernel: kernel.roots } : {} };
  const [only] = settings.directories;
  if (only?.name === "") {
    return (user) => openDiskWorkspace({ root: pathBelow(only.path, user ?? ""), access, trash, ...options });
  }
  const shared = new Map<string, JoinedDirectory>(); // what all users read
  return (user) =>
    joinWorkspaces(
      settings.directories.map((directory) => {
        const { name, path, isReadOnly } = directory;
        const root = rootOf(directory, user);
        const own = { root, access: { ...access, below: name }, isReadOnly, ...options };
        const open = () => openDiskWorkspace({ ...own, ...isReadOnly ? {} : { trash } });
        const joined = shared.get(name) ?? { name, isReadOnly, ...openWhileThere(path, root, open) };
        if (isReadOnly) shared.set(name, joined);
        return joined;
      }),
      { limits, clock },
    );
}

/** Where a user's part of a directory is: of a read-only one, which all users share, the whole. */
function rootOf({ path, isReadOnly }: WorkspaceDirectory, user: string | null): string {
  return isReadOnly ? path : pathBelow(path, user ?? "");
}

/**
 * Opens the workspace of a directory that may be away, and come back: where another is at its root it was away. On
 * another file system than before and empty it is taken for the place where its disk is to be mounted.
 */
function openWhileThere(path: string, root: string, open: () => Workspace): Pick<JoinedDirectory, "open" | "close"> {
  let opened: Workspace | null = null;
  let identity: string | null = null;
  const close = async (): Promise<void> => {
    const last = opened;
    opened = null;
    await last?.close();
  };
  return {
    open() {
      if (opened !== null) {
        if (identityOf(root) === identity) return opened;
        void close();
        return null;
      }
      try {
        const { dev } = Deno.statSync(path);
        const isElsewhere = identity?.startsWith(`${dev}:`) === false;
        if (isElsewhere && Deno.readDirSync(path)[Symbol.iterator]().next().done === true) return null;
        opened = open();
        identity = identityOf(root);
        return opened;
      } catch (error) {
        if (error instanceof UnusableError || systemCode(error) !== undefined) return null;
        throw error;
      }
    },
    close,
  };
}

/** Differs where another directory is at the path than before; `null` where there is none. */
export function identityOf(path: string): string | null {
  try {
    const { dev, ino } = Deno.statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}

/** Says where a user's files are, for people. */
export function placesOfFiles({ store, sharing, directories }: WorkspaceSettings): (userId: string) => string {
  const isShared = sharing === "shared";
  if (store === "storage") return () => isShared ? "in the database, shared" : "in the database, your own";
  return (userId) => directories.map((each) => rootOf(each, isShared ? null : userDirectoryName(userId))).join(", ");
}

/** Whether changes can be undone. */
export function keepsChanges({ trashKeepMs }: WorkspaceSettings): boolean {
  return trashKeepMs > 0;
}

/** Calls that work on files for one grant at the same time, which bounds their memory. */
const maxFileCallsAtOnce = 4;
/** Of all grants of a person: sixty clients that edit took 556 MiB. */
const maxFileCallsOfPerson = 8;

const answersUnread = {
  ok: false,
  code: "answers_unread",
  message: "Earlier answers to you wait to be read. Read them, then call again",
} as const;

/** The places in which calls work on files. In its place a call first waits until its caller has read earlier answers. */
export function createFilePlaces() {
  const ofGrant = createParallelShare(maxFileCallsAtOnce);
  const ofPerson = createParallelShare(maxFileCallsOfPerson);
  const inPlace = <T>(context: ToolContext, work: () => T | Promise<T>, refusal: T): T | Promise<T> => {
    const caller = shareKey(context.principal);
    const signal = (): AbortSignal => context.signal;
    const asPerson = () => ofPerson(context.principal.subject, work, signal);
    return ofGrant(caller, () => {
      const read = whenAnswersAreRead(caller, signal);
      return read === null ? asPerson() : read.then((isRead) => isRead ? asPerson() : refusal);
    }, signal);
  };
  /** Only what a held call is shown to do: the tool finds its own places. */
  const ofPreview = ({ preview, ...tool }: Tool): Tool => ({
    ...tool,
    ...preview && {
      preview: async (input, context) => await inPlace(context, () => preview(input, context), answersUnread),
    },
  });
  return {
    ofPreview,
    ofTool: (tool: Tool): Tool => ({
      ...ofPreview(tool),
      run: (input, context) => inPlace(context, () => tool.run(input, context), answersUnread),
    }),
    ofResources: (family: ResourceFamily): ResourceFamily => ({
      ...family,
      read: (uri, context) => inPlace(context, () => family.read(uri, context), { refusal: answersUnread.message }),
    }),
    /** Of a tool that waits for a person between two parts of its work. */
    ofWork: <T>(context: ToolContext, work: () => Promise<Result<T, ToolOutcome>>) =>
      inPlace(context, work, failure(answersUnread)),
  };
}
