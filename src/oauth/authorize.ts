/** `GET /oauth/authorize` (RFC 6749 §3.1): validates the request, stores it, and shows the first page. */
import { addressKey } from "../lib/address_key.ts";
import { type AuthorizationError, errorLocation, errorResponse, type ResponseTarget } from "./authorization_response.ts";
import { isClientDocumentUrl } from "./client_document_url.ts";
import type { ClientDirectory } from "./client_directory.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { hiddenText } from "./hidden_text.ts";
import { type InteractionOptions, showConsent, showSignIn } from "./interaction.ts";
import { clientDocumentPage } from "./client_document_page.ts";
import { type DeadEnd, errorPage, methodNotAllowedPage } from "./error_page.ts";
import { logStep } from "./refusal.ts";
import { refusedRequestPage } from "./refused_request_page.ts";
import { hashSecret, randomSecret } from "../lib/random_secret.ts";
import { type AuthorizationRequest, authorizationRequestLifetimeSeconds, authorizationRequests } from "./records/authorization_request.ts";
import { type Client, clients } from "./records/client.ts";
import { classifyRedirectUri } from "./redirect_uri.ts";
import { maxQueryCharacters, toParameters } from "./request_body.ts";
import { type AuthorizationProblem, authorizationProblems, validateAuthorizationRequest, type ValidAuthorizationRequest } from "./validate_authorization_request.ts";

/** What the endpoint needs besides what all browser endpoints share. */
interface AuthorizeOptions extends InteractionOptions {
  readonly findForAuthorization: ClientDirectory["findForAuthorization"];
  readonly resource: string;
  readonly isAcceptedResource: (values: readonly string[]) => boolean;
  readonly offeredScopes: readonly string[];
}

/** Why no document is fetched from a client's id that is a URL. */
type UrlProblem = "client_documents_off" | "forbidden_url";

export function createAuthorizeEndpoint(options: AuthorizeOptions): Endpoint {
  const { issuer, log, browsers, users, findForAuthorization } = options;
  return async (request, peer) => {
    if (request.method !== "GET") return methodNotAllowedPage("GET");
    const url = new URL(request.url);
    const clientId = url.searchParams.get("client_id") ?? "";
    let loggedClient = hiddenText(options.secrets, clientId);
    const refused = (reason: string, problem?: AuthorizationProblem | UrlProblem): void =>
      logStep({ log, peer }, "authorization", { outcome: "refused", reason, problem, client: loggedClient }, {
        reason: problem ?? reason,
      });
    const deadEnd = (reason: DeadEnd, problem?: UrlProblem): Response => {
      refused(reason, problem);
      return errorPage(reason);
    };
    if (url.search.length > maxQueryCharacters) return deadEnd("request_too_long");
    if (options.signInElsewhere === undefined && !await users.hasOwner()) return deadEnd("not_set_up");
    const parameters = toParameters(url.searchParams);
    // No honest client sends repeated parameters or control characters, and parsers disagree about them.
    if (!parameters.ok || [...url.searchParams.values()].some((value) => /\p{Cc}/u.test(value))) {
      return deadEnd("malformed_request");
    }
    const found = await findForAuthorization(clientId, addressKey(peer.address));
    if (!found.ok) {
      if (found.error === "unknown_client") {
        const asUrl = isClientDocumentUrl(clientId) ? "client_documents_off" : "forbidden_url";
        return deadEnd("unknown_client", /^https?:/.test(clientId) ? asUrl : undefined);
      }
      refused(found.error);
      return clientDocumentPage(found.error);
    }
    const client = found.value;
    loggedClient = client.id;
    const sendBack = async (
      target: ResponseTarget,
      problem: AuthorizationProblem,
      as?: AuthorizationError,
    ): Promise<Response> => {
      const [ofProblem, text] = authorizationProblems[problem];
      const error = as ?? ofProblem;
      refused(error, problem);
      const description = error === "invalid_target" ? `${text}; it must be ${options.resource}` : text;
      if (!await isStranger(options, client, target)) return errorResponse(issuer, target, error, { description });
      return refusedRequestPage({
        clientName: client.name,
        domain: client.origin === "metadata_document" ? new URL(client.id).host : null,
        problem: description,
        location: errorLocation(issuer, target, { error, description }),
      });
    };
    const verdict = validateAuthorizationRequest(client, parameters.value, options);
    switch (verdict.kind) {
      case "local":
        return deadEnd(verdict.reason);
      case "redirect":
        return await sendBack(verdict.target, verdict.problem);
      case "valid": {
        const session = await browsers.signedIn(request);
        if (verdict.request.withoutPages) {
          // Consent is asked on every authorization, so this can never succeed.
          return await sendBack(verdict.request, "prompt_none", session === null ? "login_required" : undefined);
        }
        const browser = browsers.identify(request);
        const handle = randomSecret();
        const kept = await keepRequest(options, { handle, browserHash: browser.hash, clientId }, verdict.request);
        const waiting = { handle, client, request: kept };
        const redirectHost = new URL(kept.redirectUri).host;
        logStep({ log, peer, level: "info" }, "authorization", { outcome: "asked", client: client.id, redirectHost });
        const signedIn = verdict.request.forceSignIn ? null : session;
        return signedIn === null
          ? await showSignIn(options, { kind: "request", waiting }, { cookies: browser.cookies })
          : await showConsent(options, waiting, signedIn, { cookies: browser.cookies });
      }
    }
  };
}

/**
 * Whether this client could be an attacker's: published or registered by a stranger, and approved by no user here. If
 * its bad requests were redirected, this server would be an open redirector (RFC 9700 §4.11.2).
 */
async function isStranger(
  { storage }: AuthorizeOptions,
  client: Client,
  { redirectUri }: ResponseTarget,
): Promise<boolean> {
  if (client.origin === "metadata_document") return await clients.read(storage, client.id) === null;
  // A program on the user's own machine is no site that a link could lead to.
  return client.origin === "registered" && client.usedAt === null && client.isVouchedFor !== true &&
    classifyRedirectUri(redirectUri) === "https";
}

async function keepRequest(
  { storage, clock, resource }: AuthorizeOptions,
  { handle, browserHash, clientId }: { handle: string; browserHash: string; clientId: string },
  request: ValidAuthorizationRequest,
): Promise<AuthorizationRequest> {
  const now = clock();
  const value: AuthorizationRequest = {
    clientId,
    redirectUri: request.redirectUri,
    state: request.state,
    codeChallenge: request.codeChallenge,
    scopes: [...request.scopes],
    resource,
    browserHash,
    signInAfter: request.forceSignIn ? now : 0,
    createdAt: now,
  };
  const expiresAt = now + authorizationRequestLifetimeSeconds * 1_000;
  await storage.commit({ puts: [authorizationRequests.put(hashSecret(handle), value, expiresAt)] });
  return value;
}
