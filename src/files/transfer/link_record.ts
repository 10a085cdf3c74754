/** What is stored of a link: never its secret, only what the secret's hash leads to. */
import * as z from "zod";
import type { Principal } from "../../lib/principal.ts";
import type { TransferLimits } from "./limits.ts";

const shared = {
  principal: z.object({
    subject: z.string(),
    clientId: z.string(),
    grantId: z.string(),
    tokenId: z.string(),
    keyId: z.string().nullable(),
    scopes: z.array(z.string()),
    expiresAt: z.number(),
  }),
  path: z.string(),
  /** For a transfer that has begun: until when a request may go on with it. */
  goesOnUntil: z.number().optional(),
  /** The rule that asked about the call which made the link. */
  approvedFor: z.string().optional(),
  expiresAt: z.number(),
  /** The request that may transfer: the one that came last. */
  holder: z.string().nullable(),
};

const downloadSchema = z.object({
  ...shared,
  direction: z.literal("download"),
  version: z.string(),
  sizeBytes: z.number(),
  /** The ETag of its answers, which only they tell. */
  tag: z.string(),
  /** The parts that were sent, each from its first byte to the one after its last. */
  sent: z.array(z.tuple([z.number(), z.number()])),
  /** Bytes of all answers, with those that were sent again. */
  handedOver: z.number().optional(),
});
const uploadSchema = z.object({
  ...shared,
  direction: z.literal("upload"),
  mode: z.enum(["create", "overwrite"]),
  ifMatch: z.string().optional(),
  /** All of the file had arrived, and was about to be put in place: where the draft is gone, it is there. */
  isPlacing: z.boolean().optional(),
  /** The size of the whole file, as the last part said it. */
  totalBytes: z.number().optional(),
});

export const linkSchema = z.discriminatedUnion("direction", [downloadSchema, uploadSchema]);

export type DownloadRecord = z.output<typeof downloadSchema>;
export type UploadRecord = z.output<typeof uploadSchema>;
export type TransferRecord = z.output<typeof linkSchema>;

/** When no request is taken any more. */
export function endOfLink({ expiresAt, goesOnUntil = 0 }: TransferRecord): number {
  return Math.max(expiresAt, goesOnUntil);
}

/** The record of a transfer that may go on: as long as a new link lives, but not longer than one transfer takes. */
export function goingOn<R extends TransferRecord>(
  record: R,
  now: number,
  { linkLifetimeMs, maxTransferMs }: Pick<TransferLimits, "linkLifetimeMs" | "maxTransferMs">,
): R {
  return { ...record, goesOnUntil: Math.min(now + linkLifetimeMs, record.expiresAt + maxTransferMs) };
}

export function principalOf({ principal }: TransferRecord): Principal {
  return { ...principal, scopes: new Set(principal.scopes) };
}

export function storedPrincipal(principal: Principal): TransferRecord["principal"] {
  return { ...principal, scopes: [...principal.scopes] };
}
