/** Opaque cursors of the file tools. They hold no secret and grant nothing; a made-up one is refused or harmless. */
import * as z from "zod";
import { sha256Of, toBase64Url } from "../../lib/secrets.ts";
import { hasMoreParts } from "../../lib/json.ts";
import type { TextPosition } from "../text/lines.ts";
import type { WalkPosition } from "../workspace/walk.ts";

/** Where a reading goes on, and in which content. */
export interface ReadCursor {
  readonly version: string;
  readonly from: TextPosition;
  readonly endLine?: number;
}

/** Two positions of 64 names of 255 bytes, each byte escaped, are shorter. */
const maxCursorCharacters = 300_000;
/** Two positions of at most 64 names. */
const maxCursorParts = 150;

const readCursor = z.lazy(() => z.tuple([z.string(), z.int().min(0), z.int().min(1), z.int().min(0)]));
// names as a walk met them; a made-up `..` or `a/b` would not be a name
const name = z.lazy(() => z.string().refine(isName));
const walk = z.lazy(() => z.tuple([z.boolean(), name], name));
const walkCursor = z.lazy(() => z.tuple([z.string(), z.boolean(), name], name));
const searchCursor = z.lazy(() =>
  z.tuple([z.string(), walk.nullable(), z.tuple([z.int().min(1), name], name).nullable()])
);
/** Characters of a hash that tells one call's arguments from another's: enough against mistakes. */
const tagCharacters = 6;

/** Encodes a reading's position. */
export function toReadCursorText({ version, from, endLine = 0 }: ReadCursor): string {
  return encode([version, from.offsetBytes, from.line, endLine]);
}

/** Decodes a reading's position; `null` for anything that {@link toReadCursorText} did not make. */
export function toReadCursor(text: string): ReadCursor | null {
  const parsed = readCursor.safeParse(decode(text));
  if (!parsed.success) return null;
  const [version, offsetBytes, line, endLine] = parsed.data;
  return { version, from: { offsetBytes, line }, ...endLine === 0 ? {} : { endLine } };
}

/** What a cursor says of the arguments that it goes with; an empty list is none. */
export function tagOf(request: readonly unknown[]): string {
  const given = request.map((value) => Array.isArray(value) && value.length === 0 ? null : value);
  return toBase64Url(sha256Of(JSON.stringify(given))).slice(0, tagCharacters);
}

/** Why a cursor cannot be used: nothing made it, or a call with other arguments did. */
type CursorProblem = "unknown" | "other_call";

export function cursorWords(problem: CursorProblem): string {
  return problem === "unknown"
    ? "the cursor is not one of an earlier result"
    : "the cursor is of a call with other arguments; repeat those, or leave the cursor out";
}

/** Encodes where a walk goes on. */
export function toWalkCursorText(tag: string, { segments, isDirectory }: WalkPosition): string {
  return encode([tag, isDirectory, ...segments]);
}

/** Decodes where a walk goes on, as {@link toWalkCursorText} has put it. */
export function toWalkCursor(tag: string, text: string): WalkPosition | CursorProblem {
  const parsed = walkCursor.safeParse(decode(text));
  if (!parsed.success) return "unknown";
  const [madeFor, isDirectory, ...segments] = parsed.data;
  return madeFor === tag ? { segments, isDirectory } : "other_call";
}

/** Where a search goes on. */
export interface SearchCursor {
  /** The last entry that was searched to its end; `undefined` when the first was not. */
  readonly finished: WalkPosition | undefined;
  /** The file in which the search stopped, and the last line that it gave. */
  readonly partial?: { readonly segments: readonly string[]; readonly line: number };
}

/** Encodes where a search goes on. */
export function toSearchCursorText(tag: string, { finished, partial }: SearchCursor): string {
  return encode([
    tag,
    finished === undefined ? null : [finished.isDirectory, ...finished.segments],
    partial === undefined ? null : [partial.line, ...partial.segments],
  ]);
}

/** Decodes where a search goes on, as {@link toSearchCursorText} has put it. */
export function toSearchCursor(tag: string, text: string): SearchCursor | CursorProblem {
  const parsed = searchCursor.safeParse(decode(text));
  if (!parsed.success) return "unknown";
  const [madeFor, finished, partial] = parsed.data;
  if (madeFor !== tag) return "other_call";
  return {
    finished: finished === null ? undefined : { segments: finished.slice(1).map(String), isDirectory: finished[0] },
    ...partial === null ? {} : { partial: { segments: partial.slice(1).map(String), line: partial[0] } },
  };
}

function isName(text: string): boolean {
  return text !== "" && text !== "." && text !== ".." && !/[/\0]/.test(text);
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value), "utf8").toString("base64url");
}

function decode(text: string): unknown {
  if (text.length > maxCursorCharacters) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    return hasMoreParts(value, maxCursorParts) ? undefined : value;
  } catch {
    return undefined; // not JSON
  }
}
