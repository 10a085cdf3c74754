/** Authorization codes. A redeemed one stays as a mark until its grant ends, so that a replay is noticed. */
import * as z from "zod";
import { defineRecordFamily } from "./record_family.ts";

const authorizationCodeSchema = z.lazy(() =>
  z.object({
    grantId: z.string(),
    clientId: z.string(),
    userId: z.string(),
    /** The account's credential hash at the time of consent: a passphrase changed since then voids the code. */
    credentialHash: z.string(),
    redirectUri: z.string(),
    codeChallenge: z.string(),
    scopes: z.array(z.string()),
    resource: z.string(),
    createdAt: z.number(),
    expiresAt: z.number(),
    redeemedAt: z.number().nullable(),
  })
);

export type AuthorizationCode = z.output<typeof authorizationCodeSchema>;

/** `["authorization_code", SHA-256 of the code]`, expiring. */
export const authorizationCodes = defineRecordFamily("authorization_code", authorizationCodeSchema);

/** People paste codes by hand where the browser runs on another machine. At most 600 (RFC 6749 §4.1.2). */
export const authorizationCodeLifetimeSeconds = 300;
