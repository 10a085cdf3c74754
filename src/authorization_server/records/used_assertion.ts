/** Client assertions that were used, kept until they end (RFC 7523 §3 rule 7). */
import { z } from "zod";
import { defineRecordFamily, type RecordFamily } from "./record_family.ts";

/** `["used_assertion", SHA-256 of client and jti]`, expiring. */
export const usedAssertions: RecordFamily<{ clientId: string }> = defineRecordFamily(
  "used_assertion",
  z.object({ clientId: z.string() }),
);
