/** `GET /oauth/authorize` (RFC 6749 §3.1): validates the request, stores it, and shows the first page. */
import { html, pageResponse, redirectResponse } from "../lib/page.ts";
import { isCodeChallenge } from "./token.ts";
import { authorizationRequestLifetimeSeconds, authorizationRequests, clients } from "./records.ts";
import type { AuthorizationRequest, Client } from "./records.ts";
import { classifyRedirectUri, locationOf, redirectTarget, selectRedirectUri } from "./redirect_uri.ts";
import { hiddenText, logStep, maxQueryCharacters, type Parameters, toParameters } from "./exchange.ts";
import { knownScopes, parseScope } from "./scope.ts";
import { addressKey, isClientDocumentUrl } from "../lib/network.ts";
import type { ClientDirectory, ClientDocumentProblem } from "./client_directory.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { deadEnd, deadEndPage, errorPage, showSignIn, wrongMethodPage } from "./interaction.ts";
import type { DeadEnd, InteractionOptions } from "./interaction.ts";
import { showConsent } from "./consent.ts";
import type { DocumentProblem } from "../lib/document_fetcher.ts";
import { hashSecret, randomSecret } from "../lib/secrets.ts";

/** Where a response goes. */
type ResponseTarget = Pick<AuthorizationRequest, "redirectUri" | "state">;

// * The rules of the authorization endpoint, in the order that keeps it from being an open redirector: the client, then
// its redirect URI, and only then everything that may be told to the client by redirect (RFC 6749 §4.1.2.1).

/** Faults that are reported to the client: the error (RFC 6749 §4.1.2.1) and its description. */
const authorizationProblems = {
  // RFC 9101 objects would override what was checked here.
  request_object: ["request_not_supported", "request is not supported"],
  request_uri: ["request_uri_not_supported", "request_uri is not supported"],
  response_type_missing: ["invalid_request", "response_type is missing"],
  response_type_not_code: ["unsupported_response_type", "response_type must be code"],
  response_mode_not_query: ["invalid_request", "response_mode must be query"],
  grant_not_registered: ["unauthorized_client", "The client is not registered for the authorization code grant"],
  code_challenge_missing: ["invalid_request", "code_challenge is missing"], // OAuth 2.1 §4.1.1
  // An absent method would mean plain (RFC 7636 §4.3), which lets anyone who sees the request redeem the code.
  code_challenge_not_s256: ["invalid_request", "code_challenge_method must be S256"],
  code_challenge_malformed: ["invalid_request", "code_challenge is not an S256 challenge"],
  foreign_resource: ["invalid_target", "The requested resource is not this server's"], // RFC 8707 §2
  // Consent is asked on every authorization.
  prompt_none: ["consent_required", "prompt=none cannot be satisfied"],
} as const;

type AuthorizationProblem = keyof typeof authorizationProblems;

/** Error codes of RFC 6749 §4.1.2.1, RFC 8707 §2 and OpenID Connect Core §3.1.2.6 that a client may be sent. */
type AuthorizationError = (typeof authorizationProblems)[AuthorizationProblem][0] | "login_required";

function findProblem(
  client: Client,
  parameters: Parameters,
  isAcceptedResource: (values: readonly string[]) => boolean,
): AuthorizationProblem | null {
  if (parameters.get("request") !== undefined) return "request_object";
  if (parameters.get("request_uri") !== undefined) return "request_uri";
  const responseType = parameters.get("response_type");
  if (responseType === undefined) return "response_type_missing";
  if (responseType !== "code") return "response_type_not_code";
  if ((parameters.get("response_mode") ?? "query") !== "query") return "response_mode_not_query";
  if (!client.grantTypes.includes("authorization_code")) return "grant_not_registered";
  const challenge = parameters.get("code_challenge");
  if (challenge === undefined) return "code_challenge_missing";
  if (parameters.get("code_challenge_method") !== "S256") return "code_challenge_not_s256";
  if (!isCodeChallenge(challenge)) return "code_challenge_malformed";
  return isAcceptedResource(parameters.getAll("resource")) ? null : "foreign_resource";
}

/**
 * The offered ones of the requested scopes; unknown ones are left out (RFC 6749 §3.3). A request without a known one,
 * as of clients that ask every server for `openid offline_access`, gets the default: what the client registered, or
 * all. A client is not held to what it registered, since the user decides about each scope and clients step up to
 * scopes that they learn of later (MCP authorization, scope challenges).
 */
function requestedScopes(client: Client, scope: string | undefined, offered: readonly string[]): readonly string[] {
  const requested = knownScopes(parseScope(scope ?? ""), offered);
  if (requested.length > 0) return requested;
  const registered = knownScopes(client.scopes, offered);
  return registered.length > 0 ? registered : offered;
}

/** What the endpoint needs besides what all browser endpoints share. */
interface AuthorizeOptions extends InteractionOptions {
  readonly findForAuthorization: ClientDirectory["findForAuthorization"];
  readonly isAcceptedResource: (values: readonly string[]) => boolean;
  readonly offeredScopes: readonly string[];
}

/** Why no document is fetched from a client's id that is a URL. */
type UrlProblem = "client_documents_off" | "forbidden_url";

export function createAuthorizeEndpoint(options: AuthorizeOptions): Endpoint {
  const { issuer, log, browsers, users, findForAuthorization } = options;
  return async (request, peer) => {
    if (request.method !== "GET") return wrongMethodPage(issuer, "GET");
    const url = new URL(request.url);
    const clientId = url.searchParams.get("client_id") ?? "";
    let loggedClient = hiddenText(options.secrets, clientId);
    const refused = (reason: string, problem?: AuthorizationProblem | UrlProblem): void =>
      logStep(
        { log, peer },
        "authorization",
        { outcome: "refused", reason, problem, client: clientId === "" ? undefined : loggedClient },
        { reason: problem ?? reason, client: loggedClient },
      );
    const refusePage = (reason: DeadEnd, problem?: UrlProblem): Response => {
      refused(reason, problem);
      return errorPage(issuer, reason);
    };
    if (url.search.length > maxQueryCharacters) return refusePage("request_too_long");
    if (options.signInElsewhere === undefined && options.company === undefined && !await users.hasOwner()) {
      return refusePage("not_set_up");
    }
    const parameters = toParameters(url.searchParams);
    // No honest client sends repeated parameters or control characters, and parsers disagree about them.
    if (!parameters.ok || [...url.searchParams.values()].some((value) => /\p{Cc}/u.test(value))) {
      return refusePage("malformed_request");
    }
    if (clientId === "") return refusePage("nothing_asked");
    const found = await findForAuthorization(clientId, addressKey(peer.address));
    if (!found.ok) {
      if (found.error === "unknown_client") {
        const asUrl = isClientDocumentUrl(clientId) ? "client_documents_off" : "forbidden_url";
        return refusePage("unknown_client", /^https?:/.test(clientId) ? asUrl : undefined);
      }
      refused(found.error);
      return clientDocumentPage(found.error);
    }
    const client = found.value;
    loggedClient = client.id;
    const sendBack = async (target: ResponseTarget, problem: AuthorizationProblem, as?: AuthorizationError) => {
      const [ofProblem, text] = authorizationProblems[problem];
      const error = as ?? ofProblem;
      refused(error, problem);
      const description = error === "invalid_target" ? `${text}; it must be ${options.resource}` : text;
      const location = locationOf(issuer, target, { error, error_description: description });
      if (!await isStranger(options, client, target)) return redirectResponse(302, location);
      return refusedRequestPage(client, description, location);
    };
    const redirectUri = selectRedirectUri(parameters.value.get("redirect_uri"), client.redirectUris);
    if (redirectUri === null) return refusePage("redirect_uri_not_registered"); // told to the user, and redirected nowhere
    const target: ResponseTarget = { redirectUri, state: parameters.value.get("state") ?? null };
    const problem = findProblem(client, parameters.value, options.isAcceptedResource);
    if (problem !== null) return await sendBack(target, problem);
    const session = await browsers.signedIn(request);
    const prompts = (parameters.value.get("prompt") ?? "").split(" "); // OpenID Connect Core §3.1.2.1
    if (prompts.includes("none")) {
      // Consent is asked on every authorization, so this can never succeed.
      return await sendBack(target, "prompt_none", session === null ? "login_required" : undefined);
    }
    const browser = browsers.identify(request);
    const asksSignIn = prompts.includes("login"); // whatever the session says
    const now = options.clock();
    const kept: AuthorizationRequest = {
      ...target,
      clientId,
      codeChallenge: parameters.value.get("code_challenge") ?? "",
      scopes: [...requestedScopes(client, parameters.value.get("scope"), options.offeredScopes)],
      resource: options.resource,
      browserHash: browser.hash,
      signInAfter: asksSignIn ? now : 0,
      createdAt: now,
    };
    const handle = randomSecret();
    const expiresAt = now + authorizationRequestLifetimeSeconds * 1_000;
    await options.storage.commit({ puts: [authorizationRequests.put(hashSecret(handle), kept, expiresAt)] });
    const waiting = { handle, client, request: kept };
    const redirectHost = redirectTarget(redirectUri);
    logStep({ log, peer, level: "info" }, "authorization", { outcome: "asked", client: client.id, redirectHost });
    return asksSignIn || session === null
      ? await showSignIn(options, { kind: "request", waiting }, { cookies: browser.cookies })
      : await showConsent(options, waiting, session, { cookies: browser.cookies });
  };
}

/**
 * Whether this client could be an attacker's: published or registered by a stranger, and approved by no user here. If
 * its bad requests were redirected, this server would be an open redirector (RFC 9700 §4.11.2).
 */
async function isStranger({ storage }: AuthorizeOptions, client: Client, { redirectUri }: ResponseTarget) {
  if (client.origin === "metadata_document") return await clients.read(storage, client.id) === null;
  // A program on the user's own machine is no site that a link could lead to.
  return client.origin === "registered" && client.usedAt === null && client.isVouchedFor !== true &&
    classifyRedirectUri(redirectUri) === "https";
}

/** Faults of a document from a public address with a valid certificate: those details are public anyway. */
const publicFaults: ReadonlySet<string> = new Set<ClientDocumentProblem | DocumentProblem>([
  ...["malformed_response", "response_too_large", "host_unavailable", "unexpected_status", "not_json"] as const,
  ...["unexpected_content_type", "malformed_document", "client_id_mismatch", "secret_in_document"] as const,
  ...["unsupported_document_authentication", "unsupported_document_grant"] as const,
  ...["unusable_redirect_uri", "unusable_keys"] as const,
]);

/**
 * The page of a problem. One text for every network failure: told apart, a refused private address and a closed port
 * would let a stranger map this server's network (SSRF as an oracle). The log has the difference.
 */
function clientDocumentPage(reason: ClientDocumentProblem | DocumentProblem): Response {
  return deadEndPage(
    publicFaults.has(reason)
      ? deadEnd(
        "This client's metadata cannot be used",
        `Its client ID is a URL, and the metadata published there breaks a rule: ${reason}. Only the publisher of the client can correct this. Send them this message.`,
        400,
      )
      : deadEnd(
        "This client could not be looked up",
        "Its client ID is a URL, and we could not fetch the metadata published there. Try again in a minute. If the problem persists, tell the operator of this server: the log gives the reason. A server without internet access can let clients register instead.",
        400,
      ),
  );
}

/**
 * Says what is wrong with the request, and shows where the redirect leads without following it: otherwise this server
 * would be an open redirector.
 */
function refusedRequestPage({ name, origin, id }: Client, problem: string, location: string): Response {
  const title = "This request cannot be granted";
  const domain = origin === "metadata_document" ? new URL(id).host : null; // where its metadata is published
  const whence = domain === null
    ? html`, which registered itself under that name,`
    : html`, published by <strong>${domain}</strong>,`;
  return pageResponse({
    title,
    status: 400,
    body: html`
      <h1>${title}</h1>
      <p><strong>${name}</strong>${whence} sent a request that this server refuses: ${problem}.</p>
      <p>No user has approved this client here. If you did not just come from it, close this page.</p>
      <p><a href="${location}">Go back to ${new URL(location).host || (domain ?? name)}</a></p>
    `,
  });
}
