/** Browsers in which somebody signed in once: guessing from elsewhere does not slow them down. */
import { z } from "zod";
import { defineRecordFamily, type RecordFamily } from "../record_family.ts";

/** `["known_browser", SHA-256 of the browser cookie]`, expiring. */
export const knownBrowsers: RecordFamily<{ signedInAt: number }> = defineRecordFamily(
  "known_browser",
  z.object({ signedInAt: z.number() }),
);
