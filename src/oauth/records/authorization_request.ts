/** Authorization requests that wait for a user. Kept here, so that nothing in a page's form can change them. */
import * as z from "zod";
import { defineRecordFamily } from "./record_family.ts";

const authorizationRequestSchema = z.lazy(() =>
  z.object({
    clientId: z.string(),
    redirectUri: z.string(),
    state: z.string().nullable(),
    codeChallenge: z.string(),
    scopes: z.array(z.string()),
    resource: z.string(),
    /** SHA-256 of the cookie of the browser that started it. */
    browserHash: z.string(),
    /** `prompt=login`: a session from before this time does not count. */
    signInAfter: z.number(),
    createdAt: z.number(),
    /** Allowed, and waiting for the person to link an account first; earlier versions ask for consent again. */
    approved: z.object({ userId: z.string(), credentialHash: z.string(), scopes: z.array(z.string()) }).optional(),
  })
);

export type AuthorizationRequest = z.output<typeof authorizationRequestSchema>;

/** `["authorization_request", SHA-256 of the handle]`, expiring. */
export const authorizationRequests = defineRecordFamily("authorization_request", authorizationRequestSchema);

/** From the first page to the decision. */
export const authorizationRequestLifetimeSeconds = 600;

/** From consent on, where the person links an account first: twice what the visit to the instance may take. */
export const approvedRequestLifetimeSeconds = 1_200;
