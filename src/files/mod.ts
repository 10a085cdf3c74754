/**
 * The directory that agents work in, and the tools that read and change it.
 *
 * - A workspace (`Workspace`, workspace/port.ts) is one tree of files that no path leaves, on a disk
 *   (`openDiskWorkspace`) or in a database (`loadStoreWorkspace`). Refusals are values; exceptions are bugs and lost
 *   infrastructure. On Linux the kernel resolves every name below the directory (`loadKernel`).
 * - `app` opens one for all users or one for each (`createUserWorkspaces`), and registers the tools, the resource and
 *   the links that carry files past the model (`loadTransfers`).
 * - `file_undo` and the console can undo every change made through `beginChange` while the trash keeps it.
 */
export { openDiskWorkspace } from "./disk/disk_workspace.ts";
export { createDocuments, type Documents } from "./documents/reading.ts";
export { documentParts, readToCompare, withKept } from "./documents/view.ts";
export { differenceOf } from "./text/diff.ts";
export { joinOwn, pathOf, planUndo, revertPassages, undoChange } from "./text/undo.ts";
export { beginChange } from "./tools/batch.ts";
export { fileDeleteTool } from "./tools/file_delete.ts";
export { fileEditTool } from "./tools/file_edit.ts";
export { fileListTool } from "./tools/file_list.ts";
export { fileMoveTool } from "./tools/file_move.ts";
export { fileReadTool } from "./tools/file_read.ts";
export { fileSearchTool } from "./tools/file_search.ts";
export { fileUndoTool, toUndoFailure } from "./tools/file_undo.ts";
export { fileWriteTool } from "./tools/file_write.ts";
export { directoryOfPattern, isPattern, matchingFiles, toSize } from "./tools/list_walk.ts";
export { findPath, inStoredForm, suggestNear } from "./tools/near_names.ts";
export { type LineRequest, parseNamedParts, readTextPart, selectText } from "./tools/read_text.ts";
export { refusalWords, toFailure, toPathFailure } from "./tools/refusal.ts";
export { researchTools } from "./tools/research_tools.ts";
export { workspaceFilesResource } from "./tools/workspace_files.ts";
export { type TransferLinks, transferPath } from "./transfer/port.ts";
export type { Access, TransferLimits } from "./transfer/links.ts";
export type { ArrivingContent, Change, Kept, KeptItem, NumberedStep, PutStep } from "./workspace/change.ts";
export { type EntryState, stateOf } from "./workspace/entry_state.ts";
export { createUserWorkspaces, joinWorkspaces, userDirectoryName } from "./workspace/joined_workspace.ts";
export type { JoinedDirectory } from "./workspace/joined_workspace.ts";
export {
  entryPath,
  foldedForms,
  newNameProblem,
  numberedName,
  parseDirectoryPath,
  parseFilePath,
  parseFileUri,
  readName,
  rootPath,
  showExactly,
  showName,
  showReadably,
  toPathText,
  type WorkspacePath,
} from "./workspace/path.ts";
export { decodeText, mediaTypeOf, sniffMedia } from "./text/encoding.ts";
export { defaultWorkspaceLimits, maxTrashBytes, type WorkspaceLimits } from "./workspace/port.ts";
export {
  type FileContent,
  type Outcome,
  type Trash,
  type Workspace,
  type WorkspaceRefusal,
  type WorkspaceSource,
} from "./workspace/port.ts";
export { otherNamesWords } from "./workspace/change.ts";
/** Links that carry files past the model: loaded with the first request for one. */
export const loadTransfers = (): Promise<typeof import("./transfer/transfers.ts")> => import("./transfer/transfers.ts");
/** How a file is sent: loaded with the first download from the console. */
export const loadDownload = (): Promise<typeof import("./transfer/download.ts")> => import("./transfer/download.ts");
/** The workspace in a database: loaded with `WORKSPACE_STORE=storage`. */
export const loadStoreWorkspace = (): Promise<typeof import("./store/store_workspace.ts")> =>
  import("./store/store_workspace.ts");
