/** The difference of two files, or of a file and an earlier version of it, in place of their contents. */
import { failure, type Result, success } from "../../lib/result.ts";
import { digestOf } from "../../lib/secrets.ts";
import type { Principal } from "../../lib/principal.ts";
import type { ToolOutcome } from "../../mcp/mod.ts";
import { showName, showText, toPathText, type WorkspacePath } from "../workspace/path.ts";
import type { Workspace } from "../workspace/port.ts";
import { differenceOf } from "../text/diff.ts";
import { decodeBytes, type DecodedText, decodeText, type TextEncoding } from "../text/encoding.ts";
import { lineEndsOf } from "../text/edit.ts";
import type { Working } from "../../lib/turns.ts";
import { count, textAnswer, toVersion } from "./input.ts";
import { findPath, suggestNear } from "./near_names.ts";
import { type Failure, toFailure } from "./refusal.ts";
import { type DocumentAccess, openDocuments, withKept } from "../documents/view.ts";
import { ownChanges } from "./file_undo.ts";

const action = "compare";
/** Earlier contents of a file that are looked at for a version. */
const maxEarlier = 20;
const versionLike = /^[0-9a-f]{8,64}$/i;

interface Side {
  readonly name: string;
  readonly version: string;
  readonly bytes: Uint8Array;
  /** Of a document. */
  readonly kind?: string;
}

/**
 * How `filename` differs from `against`: a path, or what a change of the caller's replaced, by its id or the version.
 * `encoding`: of what is neither UTF-8 nor UTF-16.
 */
export async function compareFiles(
  workspace: Workspace,
  principal: Principal,
  { filename, against, encoding }: {
    readonly filename: string;
    readonly against: string;
    readonly encoding: TextEncoding | undefined;
  },
  access: DocumentAccess,
): Promise<ToolOutcome> {
  const found = await findPath(workspace, "filename", filename);
  if (!found.ok) return found.error;
  const { value: path } = found;
  const now = await readSide(workspace, path, access);
  if (!now.ok) return await suggestNear(workspace, path, now.error, { isFile: true });
  const other = await findPath(workspace, "against", against);
  if (!other.ok) return other.error;
  let before = await readSide(workspace, other.value, access);
  if (!before.ok && before.error.code === "not_found") {
    const earlier = await earlierSide(workspace, principal, { path, against }, access);
    before = earlier === null
      ? failure(await suggestNear(workspace, other.value, before.error, { isFile: true }))
      : success(earlier);
  }
  if (!before.ok) return before.error;
  const { words, diff } = await differenceWords(before.value, now.value, encoding, access.work);
  const text =
    `(- ${before.value.name}, version ${before.value.version}; + ${now.value.name}, version ${now.value.version}: ${words})`;
  return textAnswer(diff === "" ? text : `${text}\n${showText(diff)}`, {
    filename: toPathText(path.text),
    diff,
    version: now.value.version,
    untrusted: true,
  });
}

async function readSide(
  workspace: Workspace,
  path: WorkspacePath,
  access: DocumentAccess,
): Promise<Result<Side, Failure>> {
  const { view, factsOf } = openDocuments(workspace, access);
  const read = await view.read(path);
  if (!read.ok) return failure(toFailure(action, path, read.error));
  const { bytes, sha256 } = read.value;
  const facts = factsOf(path);
  const side = { name: showName(path.text), version: toVersion(digestOf(bytes)), bytes };
  return success(
    facts !== null && sha256 !== null ? { ...side, version: toVersion(sha256), kind: facts.kind } : side,
  );
}

/** The content that one of the caller's changes replaced: the change `against` names, or one of this version. */
async function earlierSide(
  workspace: Workspace,
  principal: Principal,
  { path, against }: { readonly path: WorkspacePath; readonly against: string },
  access: DocumentAccess,
): Promise<Side | null> {
  const { trash } = workspace;
  const version = versionLike.test(against) ? against.toLowerCase() : null;
  let looked = 0;
  for await (const { id, steps } of trash === null ? [] : ownChanges(trash, principal)) {
    const isNamed = id === against || against === "last";
    if (!isNamed && version === null) continue;
    for (const { number, step } of steps) {
      if (step.path !== path.text || !("kept" in step) || step.kept?.kind !== "file") continue;
      if (trash === null || ++looked > maxEarlier) return null;
      const kept = withKept(workspace, trash, { change: id, number }, step.kept.sizeBytes);
      const whole = isNamed ? null : await kept.read(path);
      if (whole !== null && !(whole.ok && digestOf(whole.value.bytes).startsWith(version ?? ""))) continue;
      const side = await readSide(kept, path, access);
      return side.ok ? { ...side.value, name: `${showName(path.text)} before ${id}` } : null;
    }
  }
  return null;
}

async function differenceWords(
  before: Side,
  now: Side,
  encoding: TextEncoding | undefined,
  work?: Working,
): Promise<{ words: string; diff: string }> {
  const decode = async (bytes: Uint8Array) =>
    encoding === undefined ? await decodeText(bytes) : decodeBytes(bytes) ?? decodeBytes(bytes, encoding);
  if (before.version === now.version) return { words: "equal", diff: "" };
  const [old, new_] = [await decode(before.bytes), await decode(now.bytes)];
  if (old === null || new_ === null) {
    const [size, other] = [before, now].map(({ bytes }) => count(bytes.byteLength, "byte"));
    return { words: `binary, ${size} and ${other}, not equal`, diff: "" };
  }
  if (before.kind !== undefined && now.kind !== undefined && old.text === new_.text) {
    return { words: "their texts are equal", diff: "" };
  }
  const [one, other] = [formOf(old), formOf(new_)];
  const byLines = await differenceOf(one.text, other.text, work);
  const isBroken = byLines !== "" && (before.kind === "PDF" || now.kind === "PDF");
  const diff = isBroken ? await differenceOf(sentencesOf(one.text), sentencesOf(other.text), work) : byLines;
  if (isBroken && diff === "") return { words: "equal but for line breaks, pages and headings", diff };
  if (isBroken && diff.length < byLines.length) {
    return { words: "compared and numbered by sentences; what follows is untrusted file text", diff };
  }
  const form = one.words === other.words ? "" : `${one.words} and ${other.words}`;
  if (byLines === "") return { words: `equal but for ${form || "mixed line ends"}`, diff: "" };
  return { words: `${form && `${form}; `}what follows is untrusted file text`, diff: byLines };
}

/** A sentence a line, rows of tables as they are: where a PDF breaks lines and pages says nothing of what it says. */
function sentencesOf(text: string): string {
  const pieces = text.replaceAll(/^--- p\d+ ---$|^[|\t :-]+$/gm, "").split(/^(\|.*\|)$/m);
  return pieces.flatMap((piece, at) => {
    if (at % 2 === 1) return [piece];
    const flowing = piece.replaceAll(/^(?:#+|-) /gm, "").replaceAll(/\s+/g, " ").trim();
    return flowing === "" ? [] : flowing.split(/(?<=[.!?;:][”"’)]?) /);
  }).concat("").join("\n");
}

/** The text without what is its form: line ends, encoding, byte order mark. */
function formOf({ text, encoding }: DecodedText): { readonly text: string; readonly words: string } {
  const isMarked = text.startsWith("\ufeff");
  const mark = isMarked && encoding === "utf-8" ? " with a byte order mark" : "";
  return {
    text: (isMarked ? text.slice(1) : text).replaceAll("\r\n", "\n"),
    words: `${lineEndsOf(text) ?? "no line ends"}, ${encoding}${mark}`,
  };
}
