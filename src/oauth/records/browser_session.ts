/** Signed-in browsers. A session may spare the passphrase, never the consent. */
import * as z from "zod";
import { defineRecordFamily } from "./record_family.ts";

const browserSessionSchema = z.object({
  userId: z.string(),
  /** The account's credential hash at sign-in: a changed passphrase ends the session. */
  credentialHash: z.string(),
  signedInAt: z.number(),
});

/** `["browser_session", SHA-256 of the cookie]`, expiring. */
export const browserSessions = defineRecordFamily("browser_session", browserSessionSchema);
