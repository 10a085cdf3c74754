/**
 * Settings of the workspace: where files are kept, who shares them, how large they get, and how long changes can be
 * undone. `app` reads them before the rest of files is loaded.
 */
import {
  mebibyte,
  optional,
  parseChoice,
  parseDurationOrNone,
  parseInteger,
  parseList,
  parseText,
  required,
  type ValuesOf,
} from "../lib/settings.ts";

/** Settings under the heading Workspace. */
export const workspaceSettings = {
  dir: required({
    env: "WORKSPACE_DIR",
    flag: "workspace",
    default: "~/mcp-workspace",
    parse: parseText,
    help: "directory that the file tools work in; several: NAME=PATH,NAME=PATH:ro, each a folder of the workspace",
  }),
  store: required({
    env: "WORKSPACE_STORE",
    default: "disk",
    defaultOnDeploy: "storage",
    parse: parseChoice(["disk", "storage"]),
    help: "whether files are kept in WORKSPACE_DIR, or in the database",
  }),
  sharing: required({
    env: "WORKSPACES",
    default: "shared",
    parse: parseChoice(["shared", "per-user"]),
    help: "whether all users share WORKSPACE_DIR, or each has a directory below it",
  }),
  maxWriteBytes: required({
    env: "MAX_WRITE_BYTES",
    default: String(mebibyte),
    parse: parseInteger(1, 64 * mebibyte),
    help: "largest file that file_write makes, in bytes",
  }),
  quotaBytes: optional({
    env: "WORKSPACE_QUOTA_BYTES",
    parse: parseInteger(1, 1_000_000_000_000),
    help: "maximum size of all files in the workspace together, in bytes",
  }),
  deniedNames: optional({
    env: "WORKSPACE_DENY",
    parse: parseList(parseText),
    help: "names in the workspace that agents neither see nor reach, such as .env,*.pem; comma-separated",
  }),
  trashKeepMs: required({
    env: "TRASH_KEEP",
    default: "7d",
    parse: parseDurationOrNone,
    help: "how long files that were changed or deleted are kept, for file_undo and `trash restore`; 0 keeps nothing",
  }),
};

/** The values of {@link workspaceSettings}, parsed. */
export type WorkspaceSettings = ValuesOf<typeof workspaceSettings>;
