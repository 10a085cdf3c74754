/** The tool `file_write`: creates, replaces or extends files. */
import * as z from "zod";
import { failure, type Result, success } from "../../lib/result.ts";
import { defineTool, type Tool, type ToolOutcome } from "../../mcp/tool.ts";
import { showName, toPathText } from "../../workspace/file_display.ts";
import { parseFilePath, type WorkspacePath } from "../../workspace/path.ts";
import { type Workspace, type WorkspaceSource, type WriteOptions, type WrittenFile } from "../../workspace/port.ts";
import { encodeText, type TextEncoding } from "../../workspace/text/encoding.ts";
import { hasOpenLine, storedFormOf } from "../../workspace/text/stored_form.ts";
import { filenameInput, filenameOutput, ifVersionInput, sha256Output, toVersion, versionOutput } from "./input.ts";
import { linkedWrite, linkInput, linkOutput } from "./forms/link.ts";
import { noteOf } from "./forms/write_note.ts";
import type { Principal } from "../../lib/principal.ts";
import type { TransferLinks } from "../../transfer/port.ts";
import { inStoredForm } from "./near_names.ts";
import { toFailure, toPathFailure } from "./refusal.ts";
import { previewWrite } from "./preview/preview.ts";
import { beginChange } from "./undo/changing.ts";
import { changingHints } from "../hints.ts";

type Failure = Extract<ToolOutcome, { readonly ok: false }>;
type Mode = NonNullable<WriteOptions["mode"]>;
type Written = WrittenFile & { readonly note: string };

/** Files of one call, the first included. */
const maxFiles = 50;
const verbs = { create: "Created", overwrite: "Replaced", append: "Appended to" };

const plainInput = () =>
  z.object({
    filename: filenameInput().describe("Path"),
    content: z.string().describe("Text"),
    mode: z.enum(["overwrite", "create", "append"]).default("overwrite").describe("create refuses what is there"),
    if_version: ifVersionInput(),
    files: z.array(z.strictObject({ filename: z.string(), content: z.string() })).max(maxFiles - 1).optional().describe(
      "More of them",
    ),
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

const oneFile = () =>
  z.object({
    filename: filenameOutput(),
    size_bytes: z.int().describe("The file's new size in bytes"),
    version: versionOutput(),
    sha256: sha256Output(),
    created: z.boolean().describe("Whether the file is new"),
    note: z.string().optional().describe("What to know of its line ends and encoding"),
  });
const output = (hasLinks: boolean) => {
  const one = oneFile();
  const part = one.partial().shape;
  return z.object({
    ...(hasLinks ? { ...one.partial().required({ filename: true }).shape, ...linkOutput() } : one.shape),
    files: z.array(z.object({ ...part, error: z.string().optional() })).optional(),
  });
};

/** Writes text files to the workspace. */
export function fileWriteTool(source: WorkspaceSource, links: TransferLinks | null = null): Tool {
  return defineTool({
    name: "file_write",
    title: "Write files",
    description: "Creates a file or replaces it whole; append adds at its end. Makes missing directories.",
    scopes: ["files:write"],
    annotations: { title: "Write files", ...changingHints },
    aliases: {
      ...{ path: "filename", file_path: "filename", file: "filename" },
      ...{ text: "content", contents: "content", if_match: "if_version" },
    },
    input: links === null ? z.lazy(plainInput) : z.lazy(linkableInput),
    output: z.lazy(() => output(links !== null)),
    preview: (input: Input, context) => previewWrite(source, input, context),
    async run(request: Input, context) {
      const { filename, content = "", mode, if_version: ifVersion, files = [] } = request;
      const { workspace } = beginChange(source, context, "file_write");
      if (request.link && links !== null) return await writeByLink(workspace, links, context.principal, request);
      const wanted = [{ filename, content }, ...files];
      const parsed: { readonly path: WorkspacePath; readonly content: string }[] = [];
      for (const file of wanted) { // nothing is written where one cannot be
        const path = parseFilePath(file.filename);
        if (!path.ok) return toPathFailure("filename", path.error, file.filename);
        if (!file.content.isWellFormed()) return notUnicode; // it would be stored as U+FFFD, without a word
        parsed.push({ path: await inStoredForm(workspace, path.value), content: file.content });
      }
      const lines: string[] = [];
      const facts: Record<string, unknown>[] = [];
      for (const [index, file] of parsed.entries()) {
        const written = await writeOne(workspace, file, mode, index === 0 ? ifVersion : undefined);
        if (!written.ok) {
          if (index === 0) return written.error;
          lines.push(written.error.message);
          facts.push({ filename: toPathText(file.path.text), error: written.error.message });
          continue;
        }
        const { sizeBytes, sha256, created, note } = written.value;
        const verb = created ? verbs.create : verbs[mode];
        lines.push(
          `${verb} ${showName(file.path.text)} (${sizeBytes} bytes, version ${toVersion(sha256)})${
            note && `; ${note}`
          }`,
        );
        facts.push({
          filename: toPathText(file.path.text),
          size_bytes: sizeBytes,
          version: toVersion(sha256),
          sha256,
          created,
          ...note === "" ? {} : { note },
        });
      }
      const [first, ...further] = facts;
      return {
        ok: true,
        content: [{ type: "text", text: lines.join("\n") }],
        structuredContent: { ...first, ...(further.length === 0 ? {} : { files: further }) },
      };
    },
  });
}

const notUnicode: Failure = {
  ok: false,
  code: "content_not_unicode",
  message: "Failed to write file: the content is not valid Unicode (unpaired surrogate)",
};

async function writeByLink(
  workspace: Workspace,
  links: TransferLinks,
  principal: Principal,
  { filename, content, mode, if_version: ifVersion, files }: Input,
): Promise<ToolOutcome> {
  const parsed = parseFilePath(filename);
  if (!parsed.ok) return toPathFailure("filename", parsed.error, filename);
  if (mode === "append" || files !== undefined || (content ?? "") !== "") {
    const message = "Failed to write file: link is for one whole file; leave out content, files and append";
    return { ok: false, code: "invalid_arguments", message };
  }
  const path = await inStoredForm(workspace, parsed.value);
  const ifMatch = ifVersion === undefined ? undefined : await hashOfVersion(workspace, path, ifVersion);
  if (ifMatch === null) return toFailure("write file", path, { reason: "conflict" });
  return await linkedWrite(links, principal, path, ifMatch === undefined ? { mode } : { mode, ifMatch });
}

async function writeOne(
  workspace: Workspace,
  { path, content }: { readonly path: WorkspacePath; readonly content: string },
  mode: Mode,
  ifVersion: string | undefined,
): Promise<Result<Written, Failure>> {
  const stored = mode === "create" ? null : await storedFormOf(workspace, path, beyondAscii.test(content));
  const isAdded = mode === "append";
  const kept = stored?.encoding ?? "utf-8";
  const encoding = kept === "latin1" && !isAdded ? "utf-8" : kept; // that of UTF-16 is certain, by its mark
  const isContinued = isAdded && stored !== null && /^[^\r\n]/.test(content) &&
    await hasOpenLine(workspace, path, stored);
  const isMarked = isAdded || encoding === "utf-8" || content.startsWith("\ufeff");
  const bytes = encodeText(isMarked ? content : `\ufeff${content}`, encoding);
  if (bytes === null) return failure(notEncodable(encoding, path));
  const ifMatch = ifVersion === undefined ? undefined : await hashOfVersion(workspace, path, ifVersion);
  if (ifMatch === null) return failure(toFailure("write file", path, { reason: "conflict" }));
  const written = await workspace.write(path, bytes, ifMatch === undefined ? { mode } : { mode, ifMatch });
  if (!written.ok) return failure(toFailure("write file", path, written.error));
  return success({
    ...written.value,
    note: stored === null ? "" : noteOf(stored, { content, encoding, isAdded, isContinued }),
  });
}

const beyondAscii = /[^\0-\x7f]/;

function notEncodable(encoding: TextEncoding, path: WorkspacePath): Failure {
  const words = `the content has characters that the file's encoding (${encoding}) lacks; write it whole for UTF-8`;
  return { ok: false, code: "not_encodable", message: `Failed to write file: ${words} (${showName(path.text)})` };
}

/** The whole SHA-256 that the version begins; `null` where the file has another, or cannot be read. */
async function hashOfVersion(workspace: Workspace, path: WorkspacePath, version: string): Promise<string | null> {
  if (version.length === 64) return version;
  const read = await workspace.read(path);
  if (!read.ok || read.value.sha256 === null) return null;
  return read.value.sha256.startsWith(version.toLowerCase()) ? read.value.sha256 : null;
}
