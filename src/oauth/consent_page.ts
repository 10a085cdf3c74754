/** The page where a user decides what a client may do. */
import { durationWords } from "../lib/duration_words.ts";
import { type Html, html } from "../lib/html.ts";
import { scopeCatalogue, type ScopeDefinition } from "../lib/scopes.ts";
import { pageResponse } from "../lib/page.ts";
import type { ServicenowStatus } from "./servicenow_port.ts";
import { nativeApplicationOf } from "./redirect_uri.ts";

export interface ConsentPage {
  readonly action: string;
  readonly grantsPath: string;
  /** Where the user can switch accounts and come back. */
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
  const note = including !== undefined
    ? html`. Included whenever <code>${including.name}</code> is ticked.`
    : scope.implies.length > 0
    ? html`. Includes <code>${scope.implies.join(", ")}</code>.`
    : null;
  const checked = ticked.includes(scope.name) && html`checked`;
  return html`
    <label class="${including === undefined ? "scope" : "scope included"}">
      <input type="checkbox" name="scope" value="${scope.name}" ${checked}>
      <span>${scope.words}</span>
      <small><code>${scope.name}</code>${note}</small>
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

/** Where the answer goes, and the one warning that fits it. */
function destination({ redirectUri, identity }: ConsentPage): { readonly name: string; readonly note: Html | null } {
  const target = new URL(redirectUri);
  const application = nativeApplicationOf(redirectUri);
  if (target.protocol !== "https:") {
    return {
      name: application === null ? target.host : `${application} on this device`,
      note: html`<p class="note plain">This application runs on your own computer, where any program could have
        sent this request. Continue only if you have just started the connection.</p>`,
    };
  }
  if (identity.kind !== "unverified") return { name: target.host, note: null };
  return {
    name: target.host,
    note: html`<p class="note warn">No one has verified who runs this application: it chose its own name. If you
      allow it, <strong>${target.host}</strong> gets this access. Continue only if you recognise that address.</p>`,
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
  const { name, note } = destination(page);
  const choices = scopeCatalogue.filter((scope) => page.scopes.includes(scope.name));
  return pageResponse({
    title: "Allow access?",
    formsLeave: true,
    ...(page.cookies === undefined ? {} : { cookies: page.cookies }),
    body: html`
      <h1>An application asks for access</h1>
      <p class="quiet">Allow access only if you started this yourself.</p>
      ${page.problem === undefined ? null : html`<p class="note bad" role="alert">${page.problem}</p>`}
      <dl class="facts">
        <div>
          <dt>Application</dt>
          <dd>“${page.clientName}”</dd>
          <dd class="quiet">${identityFact(page.identity)}</dd>
        </div>
        <div>
          <dt>Returns you to</dt>
          <dd class="mono">${name}</dd>
        </div>
        <div>
          <dt>Access to</dt>
          <dd class="mono">${page.resource}</dd>
        </div>
        <div>
          <dt>Access lasts</dt>
          <dd>${lifetimeWords(page.lifetime)}</dd>
        </div>
        <div>
          <dt>Signed in as</dt>
          <dd>${page.userName}</dd>
          <dd><a href="${page.otherAccountPath}">Use another account</a></dd>
        </div>
        ${page.servicenowAccount === null ? null : accountFact(page.servicenowAccount)}
      </dl>
      ${note}
      <form method="post" action="${page.action}">
        ${noDefaultButton}
        <input type="hidden" name="request" value="${page.handle}">
        <input type="hidden" name="account" value="${page.userId}">
        <input type="hidden" name="proof" value="${page.proof}">
        <fieldset>
          <legend>It wants to</legend>
          ${choices.map((scope) => scopeChoice(scope, page))}
        </fieldset>
        <p class="hint">Untick what it should not do. You can revoke its access at any time on your
          <a href="${page.grantsPath}">Access page</a>.</p>
        <div class="actions">
          <button type="submit" name="decision" value="allow">Allow</button>
          <button type="submit" name="decision" value="deny" class="plain">Deny</button>
        </div>
      </form>
    `,
  });
}

// Enter in a box presses the form's first submit button (HTML, "Implicit submission"). This one closes the dialog that
// the form is in, and it is in none.
const noDefaultButton = html`<button type="submit" formmethod="dialog" hidden></button>`;
