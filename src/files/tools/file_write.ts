/** The tool `file_write`: creates, replaces or extends files. */
import * as z from "zod";
import { lazyObject } from "../../lib/lazy_object.ts";
import { encodeText, lackingIn, undetectedWords } from "../text/encoding.ts";
import { differenceOf } from "../text/diff.ts";
import { hasOpenLine, inFormOf, storedFormOf } from "../text/edit.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from "../../mcp/mod.ts";
import { parseFilePath, showName, showText, toPathText, type WorkspacePath } from "../workspace/path.ts";
import type { Workspace, WorkspaceSource, WriteOptions, WrittenFile } from "../workspace/port.ts";
import { otherNamesWords } from "../workspace/change.ts";
import { toolFrames } from "./argument_names.ts";
import { type Failure, refuse, toFailure } from "./refusal.ts";
import {
  allOrNone,
  batchFailure,
  beginChange,
  conditionOf,
  effectsOf,
  endOf,
  maxNamed,
  ofPath,
  presentState,
  refuseDocument,
  refuseEmptyVersion,
  versionFault,
} from "./batch.ts";
import type { Principal } from "../../lib/principal.ts";
import type { TransferLinks } from "../transfer/port.ts";
import { beginLook, findPath, inStoredForm, type Look, slipOf } from "./near_names.ts";
import {
  count,
  filenameInput,
  ifVersionInput,
  linkAnswer,
  linkInput,
  linkOutput,
  sha256Output,
  textAnswer,
  toVersion,
  versionOutput,
} from "./input.ts";

/** The result's echo of the path, in its canonical form. */
const filenameOutput = (): z.ZodString => z.string().describe("The file's path in the workspace");

const action = "write file";
/** Files of one call, the first included. */
const maxFiles = 50;
const verbs = { create: "Created", overwrite: "Replaced", append: "Appended to" };

const modes = () => z.enum(["overwrite", "create", "append"]);
const oneMore = z.lazy(() =>
  z.strictObject({
    filename: z.string(),
    content: z.string().meta({ written: "json" }),
    mode: modes().optional().meta({ unlisted: true }),
    if_version: ifVersionInput(),
  })
);
const plainInput = () =>
  z.object({
    filename: filenameInput().describe("Path"),
    content: z.string().describe("Text").meta({ written: "json" }),
    mode: modes().default("overwrite").describe("create refuses what is there"),
    if_version: ifVersionInput(),
    files: z.array(oneMore).max(maxFiles - 1).optional().describe("More, all or none; mode as beside files"),
  });
const linkableInput = () => {
  const plain = plainInput();
  return plain.extend({
    content: plain.shape.content.optional().meta({ flat: "required" }),
    link: linkInput().describe("Give an upload URL instead"),
  }).refine(({ content, link }) => content !== undefined || link, {
    error: "content parameter is required",
    path: ["content"],
  });
};
type Input = z.output<ReturnType<typeof linkableInput>>;

const oneFile = () => ({
  filename: filenameOutput(),
  size_bytes: z.int().optional().describe("The file's new size in bytes"),
  version: versionOutput().optional(),
  sha256: sha256Output().optional(),
  created: z.boolean().optional().describe("Whether the file is new"),
  note: z.string().optional().describe("What to know of its line ends and encoding"),
});
const output = lazyObject(() => ({ ...oneFile(), ...linkOutput(), files: z.array(z.object(oneFile())).optional() }));

/**
 * The tool that `app` registers to write text files, one or all of several; with `links`, also addresses to upload them.
 * The client's view shows what was replaced to those who may read it.
 */
export function fileWriteTool(
  source: WorkspaceSource,
  links: TransferLinks | null = null,
  mayRead: (principal: Principal, filenames: readonly string[]) => Promise<boolean> = () => Promise.resolve(false),
): Tool {
  return defineTool({
    ...toolFrames.write,
    description: "Creates a file or replaces it whole; append adds at its end. Makes missing directories.",
    input: links === null ? z.lazy(plainInput) : z.lazy(linkableInput),
    output,
    preview: (input: Input, context) => previewWrite(source, input, context),
    async run(request: Input, context) {
      const { filename, content = "", files = [] } = request;
      const changing = beginChange(source, context, "file_write");
      const { workspace } = changing;
      const given = [{ filename, content, mode: request.mode, if_version: request.if_version }, ...files];
      const versions = given.map(({ filename: path, if_version: version }) => ({ path, version }));
      const empty = await refuseEmptyVersion(workspace, action, versions);
      if (empty !== null) return empty;
      if (request.link && links !== null) return await writeByLink(workspace, links, context.principal, request);
      const isShown = context.supports("view") &&
        await mayRead(context.principal, given.map((each) => each.filename));
      const differences = isShown ? await previewWrite(source, request, context) : "";
      const isOne = files.length === 0;
      const wanted: WantedFile[] = [];
      const obstacles: Failure[] = [];
      const look = beginLook();
      for (const { filename, content, mode = request.mode, if_version: ifVersion } of given) {
        const path = await findPath(workspace, "filename", filename, {
          look: obstacles.length < maxNamed ? look : null,
        });
        const name = path.ok ? endOf(workspace, path.value, "followed") : null; // that of another file may be a link
        const wrong = path.ok
          ? refuseDocument(action, path.value) ?? await slipOf(workspace, action, path.value)
          : null;
        if (!path.ok) obstacles.push(isOne ? path.error : ofPath(filename, path.error));
        else if (wrong !== null) obstacles.push(wrong);
        else if (!content.isWellFormed()) obstacles.push(notUnicode); // it would be stored as U+FFFD, without a word
        else if (
          mode !== "append" &&
          wanted.some((other) => other.mode === "append" && endOf(workspace, other.path, "followed") === name)
        ) {
          obstacles.push(refuse(action, `this call appends to it before; name it once (${showName(path.value.text)})`));
        } else wanted.push({ path: path.value, content, mode, ifVersion });
      }
      for (const file of isOne ? [] : wanted) {
        const refused = await obstacleOf(workspace, file, obstacles.length < maxNamed ? look : null);
        if (refused !== null) obstacles.push(refused);
      }
      const [first] = obstacles;
      if (first !== undefined) return isOne ? first : batchFailure(obstacles);
      const written = await allOrNone(changing, wanted, {
        isOne,
        make: (file) => writeOne(workspace, file),
        sha256Of: ({ sha256 }) => sha256,
      });
      return written.ok ? toAnswer(written.value, differences) : written.error;
    },
  });
}

/** One file of a call. */
interface WantedFile {
  readonly path: WorkspacePath;
  readonly content: string;
  readonly mode: Mode;
  readonly ifVersion: string | undefined;
}

/** `differences`: for the client's view. */
function toAnswer(written: readonly Written[], differences: string): ToolOutcome {
  const lines: string[] = [];
  const facts: Record<string, unknown>[] = [];
  for (const { path, mode, sizeBytes, sha256, created, note } of written) {
    const verb = created ? verbs.create : verbs[mode];
    const size = `${count(sizeBytes, "byte")}, version ${toVersion(sha256)}`;
    lines.push(`${verb} ${showName(path.text)} (${size})${note && `; ${note}`}`);
    facts.push({
      filename: toPathText(path.text),
      size_bytes: sizeBytes,
      version: toVersion(sha256),
      sha256,
      created,
      ...note === "" ? {} : { note },
    });
  }
  const [first, ...further] = facts;
  const answer = textAnswer(lines.join("\n"), { ...first, ...(further.length === 0 ? {} : { files: further }) });
  return { ...answer, view: () => ({ filename: first?.["filename"], diff: differences }) };
}

/** What would stop the write, found without writing. */
async function obstacleOf(
  workspace: Workspace,
  { path, mode, ifVersion }: WantedFile,
  look: Look | null,
): Promise<Failure | null> {
  const read = await workspace.read(path, { offsetBytes: 0, lengthBytes: 1 });
  const isMissing = !read.ok && read.error.reason === "not_found";
  if (!read.ok && !isMissing) return toFailure(action, path, read.error);
  if (read.ok && mode === "create") return toFailure(action, path, { reason: "already_exists" });
  return await versionFault(workspace, action, path, ifVersion, { look, whenNew });
}

const whenNew = "leave if_version out to create it";
const notUnicode = refuse(action, "the content is not valid Unicode (unpaired surrogate)", "content_not_unicode");

/** The address at which the file's new content is put. */
async function writeByLink(
  workspace: Workspace,
  links: TransferLinks,
  principal: Principal,
  { filename, content, mode, if_version: ifVersion, files }: Input,
): Promise<ToolOutcome> {
  const found = await findPath(workspace, "filename", filename);
  if (!found.ok) return found.error;
  if (mode === "append" || files !== undefined || (content ?? "") !== "") {
    return refuse(action, "link is for one whole file; leave out content, files and append");
  }
  const { value: path } = found;
  const slip = await slipOf(workspace, action, path);
  if (slip !== null) return slip;
  const condition = await conditionOf(workspace, action, path, ifVersion, { whenNew });
  if (!condition.ok) return condition.error;
  const link = await links.forUpload(principal, path, { mode, ...condition.value });
  if (!link.ok) return toFailure(action, path, link.error);
  const what = `PUT ${showName(path.text)} (curl -T FILE URL, or a person opens it in a browser)`;
  return linkAnswer(path, link.value, what);
}

async function writeOne(
  workspace: Workspace,
  { path, content, mode, ifVersion }: WantedFile,
): Promise<Result<Written, readonly Failure[]>> {
  const stored = mode === "create" ? null : await storedFormOf(workspace, path, beyondAscii.test(content));
  const isAdded = mode === "append";
  if (isAdded && stored !== null && stored.noText !== null) {
    return failure([refuse(action, `${stored.noText} (${showName(path.text)})`, "not_text")]);
  }
  const isContinued = isAdded && stored !== null && /^[^\r\n]/.test(content) &&
    await hasOpenLine(workspace, path, stored);
  const { text, encoding, note } = inFormOf(stored, content, { isAdded, isContinued });
  const bytes = encodeText(text, encoding);
  if (bytes === null) {
    const words = `the file's encoding (${encoding}) has no "${showText(lackingIn(text, encoding) ?? "")}"; ` +
      `leave that out, or delete the file first to have UTF-8 (${showName(path.text)})`;
    return failure([refuse(action, words, "not_encodable")]);
  }
  const condition = await conditionOf(workspace, action, path, ifVersion, { whenNew });
  if (!condition.ok) return failure([condition.error]);
  const written = await workspace.write(path, bytes, { mode, ...condition.value });
  if (!written.ok) return failure([toFailure(action, path, written.error)]);
  const unclear = isAdded ? "" : await undetectedWords(bytes, { text, encoding });
  const all = [note, unclear, otherNamesWords(written.value.otherNames)].filter((each) => each !== "").join("; ");
  return success({ ...written.value, path, mode, note: all });
}

const beyondAscii = /[^\0-\x7f]/;

type Mode = NonNullable<WriteOptions["mode"]>;
type Written = WrittenFile & { readonly path: WorkspacePath; readonly mode: Mode; readonly note: string };

/** The differences that a `file_write` would make. */
export async function previewWrite(
  source: WorkspaceSource,
  { files = [], link, ...first }: Pick<Input, "filename"> & Partial<Input>,
  context: ToolContext,
): Promise<string> {
  if (link) return `Lets the client upload ${showName(first.filename)} by a link`;
  const workspace = source(context.principal);
  return await effectsOf([first, ...files], "Writes", async ({ filename, content = "", mode = first.mode }, look) => {
    const parsed = parseFilePath(filename);
    if (!parsed.ok) return null; // the call is refused for it
    const path = await inStoredForm(workspace, parsed.value, look);
    const { text, what } = await presentState(workspace, path);
    const appends = mode === "append";
    const stored = mode === "create" ? null : await storedFormOf(workspace, path, false);
    const { text: written } = inFormOf(stored, content, { isAdded: appends });
    const difference = showText(await differenceOf(text, appends ? text + written : written, context));
    return `${appends ? "Appends to" : "Writes"} ${showName(path.text)} (${what}):\n${difference}`;
  });
}
