/** Changes of a workspace: who made one, what it did step by step, and what is kept of what it replaced. */
import * as z from "zod";
import { lazyObject } from "../../lib/lazy_object.ts";
import type { Clock } from "../../lib/time.ts";

const author = lazyObject(() => ({
  /** The user's id. */
  subject: z.string(),
  clientId: z.string(),
  grantId: z.string(),
  /** What they called. */
  tool: z.string(),
  /** Of a workspace of several directories: those that the change had come to before its first step in this one. */
  directories: z.array(z.string()).optional(),
}));

const kind = () => z.enum(["file", "directory", "link", "other"]);

const kept = lazyObject(() => ({
  kind: kind(),
  /** Of all files in it together. */
  sizeBytes: z.number(),
  /** Itself and what is below it. */
  entries: z.int(),
}));

/** Identifies an entry; one of the two suffices. */
const left = lazyObject(() => ({
  /** Of a file's content. */
  sha256: z.string().optional(),
  /** The workspace's own mark of the entry: moving it changes nothing of it. */
  identity: z.string().optional(),
}));

/** A place of a text, with lines around it, before an edit and after it. */
const passage = lazyObject(() => ({ before: z.string(), after: z.string() }));

const place = () => ({
  path: z.string(),
  kind: kind(),
  /** How many directories were made on the way. */
  made: z.int(),
  /** What was at the place before; `null` when nothing was, or nothing is kept of it. */
  kept: kept.nullable(),
  /** What is at the place after the step. */
  left,
});

const step = z.lazy(() =>
  z.discriminatedUnion("op", [
    z.object({
      op: z.literal("put"),
      ...place(),
      /** Whether nothing was at the path before. */
      created: z.boolean(),
      /** The same change has put the content that is replaced: what was there before is with that step. */
      again: z.boolean().optional(),
      /** Of an append: the size before. What was there is the beginning of what is there now. */
      sizeBefore: z.number().optional(),
      passages: z.array(passage).optional(),
      /** The step of another change that had kept the new entry. */
      source: z.object({ change: z.string(), number: z.int() }).optional(),
    }),
    /** `replaced`: whether something was at the place before; records had none of it once. */
    z.object({ op: z.literal("move"), ...place(), from: z.string(), replaced: z.boolean().optional() }),
    z.object({
      op: z.literal("remove"),
      path: z.string(),
      kind: kind(),
      kept: kept.nullable(),
      /** Of a directory in which nothing was: nothing has to be kept of it. */
      empty: z.boolean().optional(),
    }),
    /** Made a directory; `made` counts it and those on the way. */
    z.object({ op: z.literal("make"), path: z.string(), made: z.int() }),
  ])
);

/** The stored form of one step, with its number in the change. */
export const stepRecord = lazyObject(() => ({ number: z.int(), step }));
export const authorRecord = author;

/** The caller that made a change. */
export type ChangeAuthor = z.infer<typeof author>;
/** What a step keeps of the entry that it replaced or removed. */
export type Kept = z.infer<typeof kept>;
/** What identifies the entry that a step put in place, so that an undo can tell whether it is still there. */
export type Left = z.infer<typeof left>;
/** A changed place of a text, with the lines around it. */
export type Passage = z.infer<typeof passage>;
/** One step of a change, in its stored form. */
export type ChangeStep = z.infer<typeof step>;
/** A step that created or replaced an entry. */
export type PutStep = Extract<ChangeStep, { readonly op: "put" }>;
/** A step with its number in the change; an undo goes from the highest number down. */
export type NumberedStep = z.infer<typeof stepRecord>;

/** What one call has changed. */
export interface Change {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** `null`: made by no caller of a tool. */
  readonly by: ChangeAuthor | null;
  readonly steps: readonly NumberedStep[];
  /** The change that undid it. */
  readonly undoneBy: string | null;
}

/** What a step of a change keeps. */
export interface KeptItem {
  readonly change: string;
  readonly number: number;
}

/** Changes that are kept at most, each with a record of some 500 bytes. */
export const maxChanges = 20_000;
/** How much is dropped at once when there is too much, so that not every change searches for it. */
export const roomShare = 1 / 8;

/** What steps keep of files. */
export function keptBytes(steps: readonly Pick<NumberedStep, "step">[]): number {
  return steps.reduce((sum, { step }) => sum + ("kept" in step ? step.kept?.sizeBytes ?? 0 : 0), 0);
}

/** Makes ids of changes: they sort by time, those of one process by their order, and hold neither a dash nor a dot. */
export function createChangeIds(clock: Clock, randomId: () => string): () => string {
  let last = 0;
  return () => {
    last = Math.max(Math.trunc(clock()), last + 1);
    return last.toString(36).padStart(timeCharacters, "0") + randomId().replaceAll("-", "").slice(0, 6).toLowerCase();
  };
}

/** The id with a time that sorts the other way round; its mirror image is the id. */
export function mirrorTime(id: string): string {
  const mirrored = Array.from(id.slice(0, timeCharacters), (digit) => (35 - Number.parseInt(digit, 36)).toString(36));
  return mirrored.join("") + id.slice(timeCharacters);
}

/** Enough until the year 5188. */
const timeCharacters = 9;

/** Whether a text can be the id of a change. */
export function isChangeId(text: string): boolean {
  return /^[0-9a-z]{9,40}$/.test(text);
}

/** When the change was made, by its id. */
export function timeOfChange(id: string): number {
  return Number.parseInt(id.slice(0, timeCharacters), 36);
}

/**
 * Each piece is good until the next is asked for. Where the content ends, its write takes effect; where it throws,
 * nothing is written and the write throws the same.
 */
export type ArrivingContent = AsyncIterable<Uint8Array>;

/** Of a content in pieces so many bytes. */
export async function* beginningOf(pieces: AsyncIterable<Uint8Array>, sizeBytes: number): AsyncGenerator<Uint8Array> {
  let rest = sizeBytes;
  for await (const piece of pieces) {
    yield piece.subarray(0, rest);
    rest -= piece.byteLength;
    if (rest <= 0) return;
  }
}

/** How to write it. */
export interface ReceiveOptions {
  /** `create` refuses what is there; `overwrite` (the default) creates or replaces. */
  readonly mode?: "create" | "overwrite";
  /** Whose bits of permission the file gets; by default those of the file that it replaces. */
  readonly permissions?: number | null | undefined;
  /** Refuse as a conflict unless the file is there and its content has this SHA-256, in hexadecimal. */
  readonly ifMatch?: string;
}

/** How large it may become where no quota, which is judged as it arrives, says less. */
export function maxArriving(
  { maxTotalBytes, maxArrivingBytes }: {
    readonly maxTotalBytes: number | null;
    readonly maxArrivingBytes: number;
  },
): number {
  return maxTotalBytes === null ? maxArrivingBytes : Infinity;
}

/** The notice about a file's other names, which keep the old content: what replaces it is a new file. */
export function otherNamesWords(count = 0): string {
  const words = count === 1 ? "its other name (hard link) keeps" : `its ${count} other names (hard links) keep`;
  return count === 0 ? "" : `${words} the old text`;
}
