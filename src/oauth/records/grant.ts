/** Grants: what a user allowed a client. Every token belongs to one; deleting it ends them all. */
import * as z from "zod";
import { defineRecordFamily, type Stored } from "./record_family.ts";
import type { Batch, Storage } from "../../storage/port.ts";

const grantSchema = z.lazy(() =>
  z.object({
    id: z.string(),
    /** The `sub` of its tokens: a user, or the client itself for client credentials (RFC 9068 §2.2). */
    subject: z.string(),
    kind: z.enum(["user", "client"]),
    /** The approving account's {@link credentialHash} at the time; `null` for a client's own grant. */
    credentialHash: z.string().nullable(),
    clientId: z.string(),
    clientName: z.string(),
    /** Host of the redirect URI, to recognise the client by; `null` without one. */
    redirectHost: z.string().nullable(),
    scopes: z.array(z.string()),
    resource: z.string(),
    createdAt: z.number(),
    /** Where the client was when it last asked for tokens; not known of grants from before it was noted. */
    address: z.string().optional(),
    /** The refresh token family, or `null` when the client gets none. */
    refresh: z.object({
      /** Number of the current refresh token. */
      generation: z.number().int().positive(),
      /** Part of what each refresh token's MAC covers. */
      salt: z.string(),
      /** SHA-256 of the current refresh token. */
      currentHash: z.string(),
      /** No refresh after this, whatever happens. */
      endsAt: z.number(),
      lastUsedAt: z.number(),
      /** Rotations young enough for the grace window, oldest first. */
      rotations: z.array(z.object({ generation: z.number(), at: z.number() })),
    }).nullable(),
  })
);

export type Grant = z.output<typeof grantSchema>;

/** `["grant", id]`, expiring. */
export const grants = defineRecordFamily("grant", grantSchema);

/** `["subject_grant", subject, grant id]`: the grants of each user. */
export const subjectGrants = defineRecordFamily("subject_grant", z.lazy(() => z.object({ grantId: z.string() })));

/** The writes that store a grant together with its index entry. */
export function putsOfGrant(grant: Grant, expiresAt: number): NonNullable<Batch["puts"]> {
  return [
    grants.put(grant.id, grant, expiresAt),
    subjectGrants.put([grant.subject, grant.id], { grantId: grant.id }, expiresAt),
  ];
}

/** Ends a grant and with it all its tokens. Gives the grant, or `null` when there was none. */
export async function revokeGrant(storage: Storage, grantId: string): Promise<Stored<Grant> | null> {
  const stored = await grants.read(storage, grantId);
  if (stored === null) return null;
  await storage.commit({ deletes: [grants.key(grantId), subjectGrants.key(stored.value.subject, grantId)] });
  return stored;
}

const grantsPerCommit = 40; // two deletes each, within the storage port's limit of writes

/** Ends many grants, some at a time; for what no longer counts anyway, or will be asked for again. */
export async function deleteGrants(storage: Storage, doomed: readonly Pick<Grant, "id" | "subject">[]): Promise<void> {
  for (let start = 0; start < doomed.length; start += grantsPerCommit) {
    const batch = doomed.slice(start, start + grantsPerCommit);
    await storage.commit({
      deletes: batch.flatMap(({ id, subject }) => [grants.key(id), subjectGrants.key(subject, id)]),
    });
  }
}
