/** Who signed in in which browser once: guessing from elsewhere does not slow them down there. */
import { z } from "zod";
import { defineRecordFamily, type RecordFamily } from "./record_family.ts";

/** `["known_browser", SHA-256 of the browser cookie, user id]`, expiring. */
export const knownBrowsers: RecordFamily<{ signedInAt: number }> = defineRecordFamily(
  "known_browser",
  z.object({ signedInAt: z.number() }),
);
