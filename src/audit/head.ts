/** The end of a chain, for the owner to keep elsewhere. */

/** Where a chain ended when the owner looked. */
export interface KeptHead {
  readonly chain: string;
  readonly seq: number;
  readonly hash: string;
}

/** The text of a head: `CHAIN:NUMBER:HASH`. */
export function headText({ chain, seq, hash }: KeptHead): string {
  return `${chain}:${seq}:${hash}`;
}

/** `null` for what is no head. */
export function parseHead(text: string): KeptHead | null {
  const [, chain = "", seq = "", hash = ""] = /^(\d{1,4}):(\d{1,15}):([\w-]{43}|)$/.exec(text) ?? [];
  return chain === "" ? null : { chain, seq: Number(seq), hash };
}
