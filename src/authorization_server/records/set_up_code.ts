/** The one-time code of the set-up link; the newest start's code is the only one. */
import { z } from "zod";
import { defineRecordFamily, type RecordFamily } from "../record_family.ts";

const setUpCodeSchema = z.object({ codeHash: z.string() });

/** `["set_up_code", "current"]`, expiring. */
export const setUpCodes: RecordFamily<z.output<typeof setUpCodeSchema>> = defineRecordFamily(
  "set_up_code",
  setUpCodeSchema,
);
