/** Marks: that something happened once, kept for as long as it matters. */
import * as z from "zod";
import { defineRecordFamily } from "./record_family.ts";

/** `["known_browser", SHA-256 of the browser cookie, user id]`, expiring. */
export const knownBrowsers = defineRecordFamily("known_browser", z.lazy(() => z.object({ signedInAt: z.number() })));

/** `["revoked_token", jti]`, expiring. */
export const revokedTokens = defineRecordFamily("revoked_token", z.lazy(() => z.object({ revokedAt: z.number() })));

/** `["sign_in_link", SHA-256 of the code]`, expiring. */
export const signInLinks = defineRecordFamily("sign_in_link", z.lazy(() => z.object({ userId: z.string() })));

/** `["invitation", SHA-256 of the code]`, expiring: its holder chooses the passphrase of this user. */
export const invitations = defineRecordFamily(
  "invitation",
  z.lazy(() =>
    z.object({
      userId: z.string(),
      kind: z.enum(["new", "reset"]),
      /** The administrator who made it. */
      by: z.string().optional(),
      /** Of the user when a reset was made: any later one, or disabling, ends it. */
      epoch: z.string().optional(),
    })
  ),
);

/** `["used_assertion", SHA-256 of client and jti]`, expiring. */
export const usedAssertions = defineRecordFamily("used_assertion", z.lazy(() => z.object({ clientId: z.string() })));
