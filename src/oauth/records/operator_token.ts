/** Access tokens made at the command line, by a user who can read the data directory anyway. */
import * as z from "zod";
import { defineRecordFamily } from "./record_family.ts";

const operatorTokenSchema = z.lazy(() =>
  z.object({
    id: z.string(),
    name: z.string(),
    userId: z.string(),
    scopes: z.array(z.string()),
    createdAt: z.number(),
    expiresAt: z.number(),
    /** The user's epoch when it was made; absent before set-up, and in tokens of earlier versions. */
    userEpoch: z.string().optional(),
    /** SHA-256 of the whole token. */
    tokenHash: z.string(),
  })
);

export type OperatorToken = z.output<typeof operatorTokenSchema>;

/** `["operator_token", id]`, expiring. */
export const operatorTokens = defineRecordFamily("operator_token", operatorTokenSchema);
