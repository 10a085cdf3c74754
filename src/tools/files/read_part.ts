/** Parts of a text for `file_read`: its first or last lines, a range, or what follows an earlier part. */
import type { ToolOutcome } from "../../mcp/tool.ts";
import type { WorkspacePath } from "../../workspace/path.ts";
import type { Workspace } from "../../workspace/port.ts";
import { countLines, readLastLines, readLines, type TextLines } from "../../workspace/text/lines.ts";
import { type ReadCursor, toReadCursor, toReadCursorText } from "./cursor.ts";
import { decodeAndShowText, showName } from "../../workspace/file_display.ts";
import { toTimestamp } from "./input.ts";
import { toFailure } from "./refusal.ts";

/** Which part a call asks for: one way at most. */
interface PartRequest {
  readonly head?: number | undefined;
  readonly tail?: number | undefined;
  readonly start_line?: number | undefined;
  readonly end_line?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Whether it asks for less than the whole file. */
export function asksForPart({ head, tail, start_line, end_line, cursor }: PartRequest): boolean {
  return (head ?? tail ?? start_line ?? end_line ?? cursor) !== undefined;
}

/** Reads the part that the call asks for. */
export async function readPart(workspace: Workspace, path: WorkspacePath, request: PartRequest): Promise<ToolOutcome> {
  const { head, tail, start_line: startLine, end_line: endLine, cursor } = request;
  const ways = [head, tail, startLine ?? endLine, cursor].filter((way) => way !== undefined);
  if (ways.length > 1) {
    return invalid("use only one of head, tail, cursor, and start_line with end_line");
  }
  if (tail !== undefined) return await readTail(workspace, path, tail);
  if (cursor !== undefined) {
    const position = toReadCursor(cursor);
    return position === null
      ? invalid("the cursor is not one of an earlier result")
      : await readFrom(workspace, path, position);
  }
  if (startLine !== undefined && endLine !== undefined && endLine < startLine) {
    return invalid("end_line is before start_line");
  }
  const last = head ?? endLine;
  return await readFrom(workspace, path, {
    ...startLine === undefined ? {} : { startLine },
    ...last === undefined ? {} : { endLine: last },
  });
}

/** Reads from a line or a cursor on, as much as one read may give, with a cursor where there is more. */
export async function readFrom(
  workspace: Workspace,
  path: WorkspacePath,
  selection: Partial<ReadCursor> & { readonly startLine?: number },
): Promise<ToolOutcome> {
  const read = await readLines(workspace, path, selection);
  if (!read.ok) return toFailure("read file", path, read.error);
  const { bytes, from, next, version } = read.value;
  if (selection.version !== undefined && selection.version !== version) {
    return toFailure("read file", path, { reason: "conflict" });
  }
  const { endLine } = selection;
  const isCut = next !== null && (endLine === undefined || next.line <= endLine);
  const cursor = isCut
    ? toReadCursorText({ version, from: next, ...endLine === undefined ? {} : { endLine } })
    : undefined;
  return toPart(path, read.value, bytes, from.line, cursor);
}

async function readTail(workspace: Workspace, path: WorkspacePath, count: number): Promise<ToolOutcome> {
  const read = await readLastLines(workspace, path, count);
  if (!read.ok) return toFailure("read file", path, read.error);
  return toPart(path, read.value, read.value.bytes, null, undefined);
}

function toPart(
  path: WorkspacePath,
  file: Pick<TextLines, "sizeBytes" | "sha256" | "modifiedAt">,
  bytes: Uint8Array,
  firstLine: number | null,
  nextCursor: string | undefined,
): ToolOutcome {
  const text = decodeAndShowText(bytes);
  if (text === null) return notText(path);
  const { content, shown } = text;
  const lines = countLines(bytes) + (bytes.byteLength > 0 && !content.endsWith("\n") ? 1 : 0);
  const range = firstLine === null ? {} : { start_line: firstLine, end_line: firstLine + lines - 1 };
  return {
    ok: true,
    content: [
      { type: "text", text: shown },
      ...nextCursor === undefined
        ? []
        : [{ type: "text", text: `(cut here; go on with cursor ${nextCursor})` } as const],
    ],
    structuredContent: {
      filename: path.text,
      content,
      ...range,
      ...nextCursor === undefined ? {} : { next_cursor: nextCursor },
      size_bytes: file.sizeBytes,
      ...file.sha256 === null ? {} : { sha256: file.sha256 },
      modified_at: toTimestamp(file.modifiedAt),
      untrusted: true,
    },
  };
}

/** The failure for contents of a kind that cannot be shown. */
export function notText(path: WorkspacePath): ToolOutcome {
  const message = "Failed to read file: its content is neither text in UTF-8 nor a known image or audio format; " +
    `embed gives files of any kind (${showName(path.text)})`;
  return { ok: false, code: "not_text", message };
}

/** The failure for arguments that do not go together. */
export function invalid(words: string): ToolOutcome {
  return { ok: false, code: "invalid_arguments", message: `Failed to read file: ${words}` };
}
