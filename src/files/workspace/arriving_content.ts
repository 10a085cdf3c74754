/** Contents that arrive in pieces, from callers that take their time. */
import type { Result } from "../../lib/result.ts";

/**
 * Each piece is good until the next is asked for. Where the content ends, its write takes effect; where it throws,
 * nothing is written and the write throws the same.
 */
export type ArrivingContent = AsyncIterable<Uint8Array>;

/** How to write it. */
export interface ReceiveOptions {
  /** `create` refuses what is there; `overwrite` (the default) creates or replaces. */
  readonly mode?: "create" | "overwrite";
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

/** Brings all of a content to its draft, which then takes the place of the file. Nothing is left of it otherwise. */
export async function placeContent<Placed, Refusal>(
  draft: {
    append(piece: Uint8Array): Promise<Result<null, Refusal>>;
    place(): Promise<Result<Placed, Refusal>>;
    discard(): Promise<void>;
  },
  content: ArrivingContent,
): Promise<Result<Placed, Refusal>> {
  try {
    for await (const piece of content) {
      const added = await draft.append(piece);
      if (!added.ok) return added;
    }
    return await draft.place();
  } finally {
    await draft.discard();
  }
}
