/** One-time links by which a browser becomes known before anyone signed in there. */
import { z } from "zod";
import { defineRecordFamily, type RecordFamily } from "./record_family.ts";

/** `["sign_in_link", SHA-256 of the code]`, expiring. */
export const signInLinks: RecordFamily<{ userId: string }> = defineRecordFamily(
  "sign_in_link",
  z.object({ userId: z.string() }),
);
