/**
 * Between consent and the way back to a client that may use ServiceNow: the offer to link an account there first. The
 * approval waits in the request, and the code is made when the person goes on, so that its short life begins then.
 */
import type { SignedIn } from "./browser_sessions.ts";
import { type InteractionOptions, pathsOf, type Pending, proofOf } from "./interaction.ts";
import { hashSecret } from "../lib/random_secret.ts";
import { servicenowOfferPage } from "./servicenow_offer_page.ts";
import { goToInstancePage } from "./servicenow_page.ts";
import { approvedRequestLifetimeSeconds, authorizationRequests } from "./records/authorization_request.ts";
import { unchanged } from "./records/record_family.ts";
import { usesServicenow } from "../lib/scopes.ts";

/** What this person has allowed already, with the credential that they still have. */
export function approvedScopes({ request: { approved } }: Pending, { account }: SignedIn): readonly string[] | null {
  if (approved?.userId !== account.id || approved.credentialHash !== account.credentialHash) return null;
  return approved.scopes;
}

/** Whether a client with these scopes would be told to come back with a linked account. */
export async function needsLink(
  { servicenow }: InteractionOptions,
  scopes: readonly string[],
  { account }: SignedIn,
): Promise<boolean> {
  if (servicenow === undefined || !usesServicenow(scopes)) return false;
  return (await servicenow.instance.status(account.id)).state !== "linked";
}

/** Stores the approval; `false` when the request was changed or answered in the meantime. */
export async function keepApproval(
  { storage, clock }: InteractionOptions,
  { handle, request, stored }: Pending,
  { account: { id: userId, credentialHash } }: SignedIn,
  scopes: readonly string[],
): Promise<boolean> {
  const value = { ...request, approved: { userId, credentialHash, scopes: [...scopes] } };
  const expiresAt = clock() + approvedRequestLifetimeSeconds * 1_000;
  return await storage.commit({
    checks: [unchanged(stored)],
    puts: [authorizationRequests.put(hashSecret(handle), value, expiresAt)],
  });
}

export function showOffer(options: InteractionOptions, pending: Pending, signedIn: SignedIn): Response {
  return servicenowOfferPage({
    action: pathsOf(options.issuer).consent,
    handle: pending.handle,
    userId: signedIn.account.id,
    proof: proofOf(options, pending, signedIn.account),
    clientName: pending.client.name,
    instanceOrigin: options.servicenow?.instance.origin ?? "",
  });
}

/** Sends the browser to the instance; the way back leads to the request again. */
export async function visitInstance(
  { servicenow }: Required<Pick<InteractionOptions, "servicenow">>,
  { handle, request: { browserHash } }: Pending,
  { account }: SignedIn,
): Promise<Response> {
  const purpose = { kind: "link", subject: account.id, next: handle } as const;
  const { url } = await servicenow.instance.begin({ browser: browserHash, purpose });
  return goToInstancePage(url);
}
