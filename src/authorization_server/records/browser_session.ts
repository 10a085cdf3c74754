/** Signed-in browsers. A session may spare the passphrase, never the consent. */
import { z } from "zod";
import { defineRecordFamily, type RecordFamily } from "../record_family.ts";

const browserSessionSchema = z.object({
  userId: z.string(),
  /** SHA-256 of the user's password hash: a changed passphrase ends the session. */
  credentialHash: z.string(),
  signedInAt: z.number(),
});

/** A signed-in browser. */
export type BrowserSession = z.output<typeof browserSessionSchema>;

/** `["browser_session", SHA-256 of the cookie]`, expiring. */
export const browserSessions: RecordFamily<BrowserSession> = defineRecordFamily(
  "browser_session",
  browserSessionSchema,
);
