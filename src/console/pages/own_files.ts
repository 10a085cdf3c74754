/** The visitor's own workspace for the pages: through its port and the tools, by the rules that hold for calls. */
import {
  differenceOf,
  inStoredForm,
  loadDownload,
  parseDirectoryPath,
  refusalWords,
  showExactly,
  showName,
  workspaceOf,
  type WorkspaceRefusal,
} from "../../files/mod.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import type { ToolOutcome } from "../../mcp/mod.ts";
import type { Visitor } from "../../oauth/mod.ts";
import { quietly } from "../approvals/gate.ts";
import { ruleWords } from "../approvals/rule.ts";
import { authorOf, missingScope, personOf, textOf } from "./changes.ts";
import type { ConsoleSources } from "./section.ts";

/** Of a download, and of a version that is put back. */
const pieceBytes = 262_144;
/** Then a tool answers with what it has. */
const patienceMs = 10_000;
const notKept = "This version is no longer kept.";

/** A path that may be looked at. */
export type OpenedPath = Extract<Awaited<ReturnType<OwnFiles["open"]>>, { readonly ok: true }>["value"];
type OwnFiles = ReturnType<typeof createOwnFiles>;

/** What refuses does so in words for the page, and before anything is said of what is there. */
export function createOwnFiles(
  { workspace: source, tools, judge, log }: Pick<ConsoleSources, "workspace" | "tools" | "judge" | "log">,
) {
  /**
   * Why groups or a rule keep the visitor from using the tool there; `null`: nothing does. A rule that asks lets on those who could
   * approve the call. One about what is below a listed directory counts where that is opened: a page shows its name.
   */
  const ruledOut = async (visitor: Visitor, tool: string, path: string): Promise<string | null> => {
    const missing = missingScope(visitor, tool === "file_write" ? "files:write" : "files:read");
    if (missing !== null) return missing;
    const isBelow = (place: string) => path === "" ? place !== "" : place.startsWith(`${path}/`);
    const counts = ({ place = "" }) => tool !== "file_list" || !isBelow(place);
    const rule = await judge(personOf(visitor.userId), tool, path, counts);
    if (rule === null || rule.verdict === "allow") return null;
    if (rule.verdict === "ask" && (visitor.isAdministrator || rule.approver !== "administrator")) return null;
    return `A rule stands against this. ${visitor.isAdministrator ? ruleWords(rule) : ""}`;
  };
  const open = async (visitor: Visitor, written: string, tool?: string) => {
    const parsed = parseDirectoryPath(written);
    if (!parsed.ok) return failure("There is no such file or directory.");
    const workspace = workspaceOf(source, personOf(visitor.userId));
    const path = await inStoredForm(workspace, parsed.value);
    const info = await workspace.stat(path);
    const isDirectory = info.ok && info.value.kind === "directory";
    const words = await ruledOut(visitor, tool ?? (isDirectory ? "file_list" : "file_read"), path.text);
    return words === null ? success({ workspace, path, info, isDirectory }) : failure(words);
  };
  const note = (event: string, { userId: user }: Visitor, what: string, more: Readonly<Record<string, string>> = {}) =>
    log.write("audit", event, { user, outcome: "ok", what, ...more });
  /** What a step of a change has kept, for those who may see the change and read what it was about. */
  const version = async (visitor: Visitor, written: string, name: string, tool?: string) => {
    const opened = await open(visitor, written, tool);
    if (!opened.ok) return opened;
    const { trash } = opened.value.workspace;
    const [change = "", number] = name.split(".");
    const { by = null, steps = [] } = await trash?.find(change) ?? {};
    const kept = steps.find((each) => `${each.number}` === number);
    if (trash === null || kept === undefined || !maySee(visitor, by?.subject)) return failure(notKept);
    const words = await ruledOut(visitor, "file_read", kept.step.path);
    const item = { change, number: kept.number };
    const readAt = (offsetBytes: number, lengthBytes = pieceBytes) => trash.read(item, { offsetBytes, lengthBytes });
    return words === null ? success({ ...opened.value, readAt }) : failure(words);
  };
  return {
    ruledOut,
    open,
    note,
    /** The outcome of a tool without the gate: what it is asked for was opened. */
    async call(visitor: Visitor, name: string, input: Record<string, unknown>): Promise<ToolOutcome> {
      const tool = tools.find((each) => each.name === name);
      if (tool === undefined) throw new TypeError(`The console needs the tool ${name}`);
      const signal = AbortSignal.timeout(patienceMs);
      const ask = () => Promise.reject(new TypeError(`${name} asks on a page`));
      const context = { ...quietly, ask, signal, answerNow: signal, principal: personOf(visitor.userId) };
      return await tool.run(tool.input.parse(input) as never, context);
    },
    /** What restoring the version would change, as a difference; `null` where that cannot be shown. */
    async compare(visitor: Visitor, written: string, name: string) {
      const kept = await version(visitor, written, name);
      if (!kept.ok) return kept;
      const { workspace, path, info, readAt } = kept.value;
      const { maxReadBytes } = workspace.limits;
      const now = info.ok ? await workspace.read(path) : success({ bytes: new Uint8Array() });
      const then = await readAt(0, maxReadBytes);
      if (!then.ok) return failure(notKept);
      const isCut = then.value.byteLength === maxReadBytes;
      const [before, after] = [now.ok ? await textOf(now.value.bytes) : null, isCut ? null : await textOf(then.value)];
      return success(before === null || after === null ? null : showExactly(await differenceOf(before, after)));
    },
    /** Puts the version in the place of what is there, as a change that can be undone; what was done. */
    async restore(by: Visitor & { readonly address: string }, written: string, name: string) {
      const kept = await version(by, written, name, "file_write");
      if (!kept.ok) return kept;
      const { workspace, path, readAt } = kept.value;
      if (!(await readAt(0)).ok) return failure(notKept);
      const put = await workspace.begin(authorOf(by.userId)).receive(path, piecesOf(readAt));
      if (!put.ok) return failure(sentence(put.error));
      note("version_restored", by, showName(path.text), { address: by.address });
      return success(`Restored ${showName(path.text)}.`);
    },
    /** The file as an attachment; `isStill` is asked before each piece. */
    async download(visitor: Visitor, written: string, isStill: () => Promise<boolean>) {
      const opened = await open(visitor, written, "file_read");
      if (!opened.ok) return opened;
      const { workspace, path } = opened.value;
      const first = await workspace.read(path, { offsetBytes: 0, lengthBytes: 0 });
      if (!first.ok) return failure(sentence(first.error));
      const { attachmentHeaders } = await loadDownload();
      note("file_downloaded", visitor, showName(path.text));
      const pieces = piecesOf(async (offsetBytes) => {
        const part = await isStill() ? await workspace.read(path, { offsetBytes, lengthBytes: pieceBytes }) : null;
        return part?.ok && part.value.version === first.value.version ? success(part.value.bytes) : failure(part);
      });
      const headers = { ...attachmentHeaders(path.text), "content-length": String(first.value.sizeBytes) };
      return success(new Response(ReadableStream.from(pieces), { headers }));
    },
  };
}

/** Throws where a piece cannot be read: what takes the pieces then keeps none of them for the whole. */
async function* piecesOf(readAt: (offsetBytes: number) => Promise<Result<Uint8Array, unknown>>) {
  for (let offset = 0, length = pieceBytes; length === pieceBytes; offset += length) {
    const piece = await readAt(offset);
    if (!piece.ok) throw new Error("a file or a version was changed while it was read, or its reader signed out");
    length = piece.value.byteLength;
    yield piece.value;
  }
}

/** Others' changes are for administrators, as in the audit. */
export function maySee({ isAdministrator, userId }: Visitor, person: string | null | undefined): boolean {
  return isAdministrator || person === userId;
}

export function sentence(refusal: WorkspaceRefusal): string {
  const words = refusalWords(refusal);
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}.`;
}
