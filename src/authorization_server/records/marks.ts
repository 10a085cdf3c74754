/** Marks: that something happened once, kept for as long as it matters. */
import { z } from "zod";
import { defineRecordFamily, type RecordFamily } from "./record_family.ts";

/** `["known_browser", SHA-256 of the browser cookie, user id]`, expiring. */
export const knownBrowsers: RecordFamily<{ signedInAt: number }> = defineRecordFamily(
  "known_browser",
  z.object({ signedInAt: z.number() }),
);

/** `["revoked_token", jti]`, expiring. */
export const revokedTokens: RecordFamily<{ revokedAt: number }> = defineRecordFamily(
  "revoked_token",
  z.object({ revokedAt: z.number() }),
);

/** `["sign_in_link", SHA-256 of the code]`, expiring. */
export const signInLinks: RecordFamily<{ userId: string }> = defineRecordFamily(
  "sign_in_link",
  z.object({ userId: z.string() }),
);

/** `["used_assertion", SHA-256 of client and jti]`, expiring. */
export const usedAssertions: RecordFamily<{ clientId: string }> = defineRecordFamily(
  "used_assertion",
  z.object({ clientId: z.string() }),
);
