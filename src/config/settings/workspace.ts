/** The directory that agents work in, and its bounds. */
import { parseChoice, parseInteger, parseList, parseSwitch, parseText } from "../parsers.ts";
import { mebibyte, optional, required } from "../setting.ts";

/** Settings under the heading Workspace. */
export const workspaceSettings = {
  workspaceDir: required({
    env: "WORKSPACE_DIR",
    flag: "workspace",
    default: "~/mcp-workspace",
    parse: parseText,
    help: "directory that the file tools work in",
  }),
  workspaceStore: required({
    env: "WORKSPACE_STORE",
    default: "disk",
    defaultOnDeploy: "storage",
    parse: parseChoice(["disk", "storage"]),
    help: "whether the files of the workspace lie in WORKSPACE_DIR, or in the database with everything else",
  }),
  workspaces: required({
    env: "WORKSPACES",
    default: "shared",
    parse: parseChoice(["shared", "per-user"]),
    help: "whether all users work in WORKSPACE_DIR, or each in a directory of their own below it",
  }),
  workspaceWatch: required({
    env: "WORKSPACE_WATCH",
    default: "on",
    parse: parseSwitch,
    help:
      "whether clients hear of files that change, appear or disappear; on a disk it costs one system watch for each directory",
  }),
  watchDelayMilliseconds: required({
    env: "WATCH_DELAY_MS",
    default: "200",
    parse: parseInteger(1, 60_000),
    help: "milliseconds for which changes of files are gathered before clients hear of them",
  }),
  watchMaxPaths: required({
    env: "WATCH_MAX_PATHS",
    default: "500",
    parse: parseInteger(1, 100_000),
    help: "changed files that are told one by one; with more at once, every watched file counts as changed",
  }),
  watchMaxDirectories: required({
    env: "WATCH_MAX_DIRECTORIES",
    default: "8192",
    parse: parseInteger(1, 10_000_000),
    help: "directories that are watched at once",
  }),
  watchMaxFiles: required({
    env: "WATCH_MAX_FILES",
    default: "100000",
    parse: parseInteger(0, 10_000_000),
    help: "files remembered by name, so that a replaced file is not told as a new one; beyond them it may be",
  }),
  maxReadBytes: required({
    env: "MAX_READ_BYTES",
    default: String(mebibyte),
    parse: parseInteger(1, 64 * mebibyte),
    help: "largest file that file_read answers, in bytes",
  }),
  maxReadFiles: required({
    env: "MAX_READ_FILES",
    default: "50",
    parse: parseInteger(1, 1_000),
    help: "files that one call of file_read_many reads",
  }),
  maxWriteBytes: required({
    env: "MAX_WRITE_BYTES",
    default: String(mebibyte),
    parse: parseInteger(1, 64 * mebibyte),
    help: "largest file that file_write makes, in bytes",
  }),
  maxListEntries: required({
    env: "MAX_LIST_ENTRIES",
    default: "1000",
    parse: parseInteger(1, 100_000),
    help: "most entries that file_list answers at once",
  }),
  maxFileBytes: required({
    env: "MAX_FILE_BYTES",
    default: String(64 * mebibyte),
    parse: parseInteger(1, 1024 * mebibyte),
    help: "how large a file may become by appending and copying, in bytes",
  }),
  maxTreeEntries: required({
    env: "MAX_TREE_ENTRIES",
    default: "20000",
    parse: parseInteger(1, 10_000_000),
    help: "most entries that one deletion takes away, or one search visits",
  }),
  workspaceQuotaBytes: optional({
    env: "WORKSPACE_QUOTA_BYTES",
    parse: parseInteger(1, 1_000_000_000_000),
    help: "how many bytes all files of the workspace may have together",
  }),
  workspaceQuotaFiles: optional({
    env: "WORKSPACE_QUOTA_FILES",
    parse: parseInteger(1, 1_000_000_000),
    help: "how many files and directories the workspace may have",
  }),
  deniedNames: optional({
    env: "WORKSPACE_DENY",
    parse: parseList(parseText),
    help: "names in the workspace that agents neither see nor reach, such as .env,*.pem; comma-separated",
  }),
  protectedNames: required({
    env: "WORKSPACE_PROTECT",
    default: ".git",
    parse: parseList(parseText),
    help: "names in the workspace that agents may read but not change, comma-separated",
  }),
  hardLinks: required({
    env: "HARD_LINKS",
    default: "refuse",
    parse: parseChoice(["refuse", "allow"]),
    help: "whether files with several names may be read; one of the names may lie outside the workspace",
  }),
  fileWalkTimeoutSeconds: required({
    env: "FILE_WALK_TIMEOUT",
    default: "10",
    parse: parseInteger(1, 3_600),
    help: "seconds after which a search or a listing of a tree gives what it found, and a cursor",
  }),
};
