/**
 * The one-time code of the set-up link; there is one at a time. It is derived from the seed under the master key, so
 * that another instance can print the same link: the seed alone does not reveal the code.
 */
import * as z from "zod";
import { defineRecordFamily } from "./record_family.ts";

const setUpCodeSchema = z.lazy(() => z.object({ codeHash: z.string(), seed: z.string() }));

export type SetUpCode = z.output<typeof setUpCodeSchema>;

/** `["set_up_code", "current"]`, expiring. */
export const setUpCodes = defineRecordFamily("set_up_code", setUpCodeSchema);
