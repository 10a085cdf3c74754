/** Access tokens revoked one by one (RFC 7009), kept until they would have ended anyway. */
import { z } from "zod";
import { defineRecordFamily, type RecordFamily } from "./record_family.ts";

/** `["revoked_token", jti]`, expiring. */
export const revokedTokens: RecordFamily<{ revokedAt: number }> = defineRecordFamily(
  "revoked_token",
  z.object({ revokedAt: z.number() }),
);
