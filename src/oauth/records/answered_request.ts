/** Authorization requests that were answered a moment ago: a browser that sends a decision twice gets its answer twice. */
import * as z from "zod";
import { defineRecordFamily } from "./record_family.ts";

const answeredRequestSchema = z.object({
  /** SHA-256 of the cookie of the browser that decided. */
  browserHash: z.string(),
  /** SHA-256 of the decision as it was posted. */
  decisionHash: z.string(),
  redirectUri: z.string(),
  state: z.string().nullable(),
  isAllowed: z.boolean(),
});

/** `["answered_request", SHA-256 of the handle]`, expiring. */
export const answeredRequests = defineRecordFamily("answered_request", answeredRequestSchema);
