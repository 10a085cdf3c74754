/** The page where a user decides what a client may do. */
import { durationWords } from "../lib/time.ts";
import { type Html, html, pageResponse } from "../lib/page.ts";
import { scopeCatalogue, type ScopeDefinition } from "../lib/scopes.ts";
import type { ServicenowStatus } from "./servicenow_port.ts";
import { nativeApplicationOf } from "./redirect_uri.ts";
import type { ClientDocumentProblem } from "./client_metadata.ts";
import type { DocumentProblem } from "../lib/document_fetcher.ts";
import { messagePage } from "./error_page.ts";

export interface ConsentPage {
  readonly action: string;
  readonly grantsPath: string;
  /** Where the user can switch accounts. */
  readonly otherAccountPath: string;
  readonly handle: string;
  /** Ties the page to the user it was shown to. */
  readonly proof: string;
  readonly clientName: string;
  /** Who vouches for the client's name: no one, the operator, or the domain of its metadata. */
  readonly identity:
    | { readonly kind: "unverified" }
    | { readonly kind: "operator" }
    | { readonly kind: "domain"; readonly domain: string };
  readonly redirectUri: string;
  readonly resource: string;
  /** Where the person's files are; `null` where none are asked for, or it is not known. */
  readonly workspace: string | null;
  readonly userId: string;
  readonly userName: string;
  readonly scopes: readonly string[];
  /** Which boxes are ticked; all of them at first. */
  readonly ticked?: readonly string[];
  /** How long access lasts: at most, and without use; `null` where the client cannot renew it. */
  readonly lifetime: { readonly seconds: number; readonly idleSeconds: number | null };
  /** The person's account at the instance, where a requested scope acts in it. */
  readonly servicenowAccount: ServicenowStatus | null;
  readonly problem?: string;
  readonly cookies?: readonly string[];
}

function scopeChoice(scope: ScopeDefinition, { scopes, ticked = scopes }: ConsentPage): Html {
  const including = scopeCatalogue.find(({ name, implies }) => scopes.includes(name) && implies.includes(scope.name));
  const checked = ticked.includes(scope.name) && html`checked`;
  return html`
    <label class="${including === undefined ? "scope" : "scope included"}">
      <input type="checkbox" name="scope" value="${scope.name}" ${checked}>
      <span>${scope.words}</span>
      ${including !== undefined && html`<small>Included whenever the next one is allowed.</small>`}
    </label>
  `;
}

function identityFact(identity: ConsentPage["identity"]): Html {
  switch (identity.kind) {
    case "unverified":
      return html`Name not verified`;
    case "operator":
      return html`Added by the operator of this server`;
    case "domain":
      return html`Published by <strong>${identity.domain}</strong>`;
  }
}

const localCaution =
  "Only continue if you started this. The application runs on your own computer, where any program could have sent this request.";

/** Where the answer goes, and the one caution that fits it. */
function destination({ redirectUri, identity }: ConsentPage): { readonly name: string; readonly caution: Html } {
  const target = new URL(redirectUri);
  const application = nativeApplicationOf(redirectUri);
  if (target.protocol !== "https:") {
    return {
      name: application === null ? target.host : `${application} on this device`,
      caution: html`<p class="note plain">${localCaution}</p>`,
    };
  }
  return {
    name: target.host,
    caution: identity.kind === "unverified"
      ? html`
        <p
          class="note warn">Only continue if you started this. The application chose its own name, which no one has verified: if you allow it, <strong>${target
            .host}</strong> gets this access.</p>
      `
      : html`<p class="note plain">Only continue if you started this.</p>`,
  };
}

function accountFact(status: ServicenowStatus): Html {
  return html`
    <div>
      <dt>ServiceNow account</dt>
      <dd>${status.state === "linked"
        ? `${status.account.name} (${status.account.userName})`
        : "Not linked yet. You are asked about that next."}</dd>
    </div>
  `;
}

function lifetimeWords({ seconds, idleSeconds }: ConsentPage["lifetime"]): string {
  const longest = `Up to ${durationWords(seconds)}`;
  return idleSeconds === null || idleSeconds >= seconds
    ? longest
    : `${longest}, or ${durationWords(idleSeconds)} without use`;
}

export function consentPage(page: ConsentPage): Response {
  const { name, caution } = destination(page);
  const choices = scopeCatalogue.filter((scope) => page.scopes.includes(scope.name));
  const title = `${page.clientName} wants access`;
  return pageResponse({
    title,
    formsLeave: true,
    ...(page.cookies === undefined ? {} : { cookies: page.cookies }),
    body: html`
      <h1>${title}</h1>
      ${page.problem === undefined ? null : html`<p class="note bad" role="alert">${page.problem}</p>`}
      ${caution}
      <dl class="facts">
        <div>
          <dt>Redirects to</dt>
          <dd class="mono">${name}</dd>
        </div>
        ${page.workspace !== null && html`
          <div>
            <dt>Workspace</dt>
            <dd class="mono">${page.workspace}</dd>
          </div>
        `}
        <div>
          <dt>Signed in as</dt>
          <dd>${page.userName}</dd>
          <dd><a href="${page.otherAccountPath}">Use another account</a></dd>
        </div>
        ${page.servicenowAccount === null ? null : accountFact(page.servicenowAccount)}
      </dl>
      <form method="post" action="${page.action}">
        ${noDefaultButton}
        <input type="hidden" name="request" value="${page.handle}">
        <input type="hidden" name="account" value="${page.userId}">
        <input type="hidden" name="proof" value="${page.proof}">
        <fieldset>
          <legend>This lets it</legend>
          ${choices.map((scope) => scopeChoice(scope, page))}
        </fieldset>
        <div class="actions">
          <button type="submit" name="decision" value="allow">Allow</button>
          <button type="submit" name="decision" value="deny" class="plain">Deny</button>
        </div>
      </form>
      <p class="hint">Clear what you don't want to allow. You can remove its access at any time on your
        <a href="${page.grantsPath}">Access page</a>.</p>
      <details>
        <summary>Details</summary>
        <dl class="facts">
          <div>
            <dt>Application</dt>
            <dd>“${page.clientName}”</dd>
            <dd class="quiet">${identityFact(page.identity)}</dd>
          </div>
          <div>
            <dt>Access to</dt>
            <dd class="mono">${page.resource}</dd>
          </div>
          <div>
            <dt>Scopes</dt>
            <dd class="mono">${choices.map((scope) => scope.name).join(" ")}</dd>
          </div>
          <div>
            <dt>Access lasts</dt>
            <dd>${lifetimeWords(page.lifetime)}</dd>
          </div>
        </dl>
      </details>
    `,
  });
}

// Enter in a box presses the form's first submit button (HTML, "Implicit submission"). This one closes the dialog that
// the form is in, and it is in none.
const noDefaultButton = html`<button type="submit" formmethod="dialog" hidden></button>`;

// The page after consent: link an account at the instance now, or later.

export function servicenowOfferPage(page: {
  readonly action: string;
  readonly handle: string;
  readonly userId: string;
  readonly proof: string;
  readonly clientName: string;
  readonly instanceOrigin: string;
}): Response {
  return pageResponse({
    title: "Link your ServiceNow account",
    formsLeave: true,
    body: html`
      <h1>Link your ServiceNow account</h1>
      <p>You allowed “${page.clientName}” to use ServiceNow. It acts there as you, with your own rights only, so it
        needs your account at <strong class="mono">${new URL(page.instanceOrigin).host}</strong>.</p>
      <p class="quiet">You sign in to ServiceNow and come back here, and then to the application. Until an account is
        linked, the application cannot use ServiceNow.</p>
      <form method="post" action="${page.action}">
        <input type="hidden" name="request" value="${page.handle}">
        <input type="hidden" name="account" value="${page.userId}">
        <input type="hidden" name="proof" value="${page.proof}">
        <div class="actions">
          <button type="submit" name="decision" value="link">Link your ServiceNow account now</button>
          <button type="submit" name="decision" value="later" class="plain">Later</button>
        </div>
      </form>
    `,
  });
}

// The page for a client ID that is a URL, where the metadata published there cannot be used.

// One text for every network failure: told apart, a refused private address and a closed port would let a stranger map
// this server's network (SSRF as an oracle). The log has the difference.
const unreachable = {
  title: "This application could not be looked up",
  problem: "Its client ID is a URL, and we could not fetch the metadata published there.",
  advice:
    "Try again in a minute. If the problem persists, tell the operator of this server: the log gives the reason. A server without internet access can let applications register instead.",
};
const unusable = (problem: string) => ({
  title: "This application's metadata cannot be used",
  problem: `Its client ID is a URL, and the metadata published there breaks a rule: ${problem}`,
  advice: "Only the publisher of the application can correct this. Send them this message.",
});
const notADocument = unusable("it must be a small JSON document, served with status 200 and a JSON media type.");

const texts = {
  unresolvable_host: unreachable,
  forbidden_address: unreachable,
  connection_failed: unreachable,
  timed_out: unreachable,
  too_many_fetches: unreachable,
  forbidden_url: unreachable,
  // From here on the address is public and its certificate valid: the details are public anyway.
  malformed_response: notADocument,
  response_too_large: notADocument,
  host_unavailable: notADocument,
  unexpected_status: notADocument,
  unexpected_content_type: notADocument,
  not_json: notADocument,
  malformed_document: unusable(
    "it needs client_id, client_name and redirect_uris, and every member must have the right type.",
  ),
  client_id_mismatch: unusable("its client_id must be exactly the URL where it is published."),
  secret_in_document: unusable("a public document must not hold a client_secret."),
  unsupported_document_authentication: unusable("token_endpoint_auth_method must be none or private_key_jwt."),
  unsupported_document_grant: unusable("it must allow the grant type authorization_code and the response type code."),
  unusable_redirect_uri: unusable(
    "at least one of its redirect_uris must be https, or http on 127.0.0.1, [::1] or localhost, and none may have a fragment, credentials or a scheme that browsers execute.",
  ),
  unusable_keys: unusable(
    "jwks may contain only public keys; private_key_jwt needs either jwks or an https jwks_uri.",
  ),
} as const satisfies Record<ClientDocumentProblem | DocumentProblem, typeof unreachable>;

/** The page of a problem. */
export function clientDocumentPage(reason: keyof typeof texts): Response {
  const { title, problem, advice } = texts[reason];
  return messagePage({ status: 400, title, paragraphs: [problem, advice] });
}
