/** The page where a user decides what a client may do. */
import type { SignedIn } from "./browser_sessions.ts";
import { type Lifetimes, refreshTokenLifetimeSeconds } from "./context.ts";
import { type InteractionOptions, pathsOf, proofOf, type Waiting } from "./interaction.ts";
import type { Account } from "./manage_users.ts";
import type { Client } from "./records.ts";
import { nativeApplicationOf, redirectTarget } from "./redirect_uri.ts";
import { refreshIdleLifetimeSeconds } from "./token.ts";
import type { ServicenowStatus } from "./servicenow_port.ts";
import { type Html, html, pageResponse } from "../lib/page.ts";
import { scopeCatalogue, type ScopeDefinition, usesServicenow } from "../lib/scopes.ts";
import { durationWords } from "../lib/time.ts";

/** The consent page of a waiting request. */
export async function showConsent(
  options: InteractionOptions,
  waiting: Waiting,
  { account }: SignedIn,
  { problem, ticked, cookies = [] }: {
    readonly problem?: string;
    /** Which boxes are ticked; all of them at first. */
    readonly ticked?: readonly string[];
    readonly cookies?: readonly string[];
  } = {},
): Promise<Response> {
  const { client, request, handle } = waiting;
  const { lifetimes, servicenow, directories = [] } = options;
  const { redirectUri, resource } = request;
  const scopes = grantableScopes(request.scopes, account);
  const paths = pathsOf(options.issuer);
  const workspace = asksForFiles(scopes) ? options.workspaceOf?.(account.id) : undefined;
  const servicenowAccount = servicenow === undefined || !usesServicenow(scopes)
    ? null
    : await servicenow.instance.status(account.id);
  const { name, caution } = destination(redirectUri, client);
  const choices = scopeCatalogue.filter((scope) => scopes.includes(scope.name));
  const beyond = scopeCatalogue.filter(({ name }) => request.scopes.includes(name) && !scopes.includes(name));
  const title = `${client.name} wants access`;
  return pageResponse({
    title,
    formsLeave: true,
    cookies,
    body: html`
      <h1>${title}</h1>
      ${problem !== undefined && html`<p class="note bad" role="alert">${problem}</p>`}
      ${caution}
      <dl class="facts">
        <div>
          <dt>Application</dt>
          <dd>“${client.name}”</dd>
          <dd class="quiet">${identityFact(client)}</dd>
        </div>
        <div>
          <dt>Redirects to</dt>
          <dd class="mono">${name}</dd>
        </div>
        ${workspace !== undefined && html`
          <div>
            <dt>Workspace</dt>
            <dd class="mono">${workspace}</dd>
          </div>
        `}
        <div>
          <dt>Signed in as</dt>
          <dd>${account.displayName}</dd>
          <dd><a href="${paths.signIn}?${new URLSearchParams({ request: handle })
            .toString()}">Not you?</a></dd>
        </div>
        ${servicenowAccount === null ? null : accountFact(servicenowAccount)}
      </dl>
      <form method="post" action="${paths.consent}">
        ${noDefaultButton}
        <input type="hidden" name="request" value="${handle}">
        <input type="hidden" name="account" value="${account.id}">
        <input type="hidden" name="proof" value="${proofOf(options, waiting, account)}">
        <fieldset>
          <legend>This lets it</legend>
          ${choices.map((scope) => scopeChoice(scope, scopes, ticked ?? scopes))}
          ${beyond.length > 0 &&
            html`<p class="hint">Your groups do not let you allow this: ${
              beyond.map(({ words }) => words).join("; ")
            }.</p>`}
        </fieldset>
        ${directories.length > 0 && asksForFiles(scopes) && html`
          <fieldset>
            <legend>In these folders</legend>
            ${directories.map((directory) =>
              html`
                <label class="scope">
                  <input type="checkbox" name="directory" value="${directory}" checked>
                  <span>${directory}</span>
                </label>
              `
            )}
          </fieldset>
        `}
        <div class="actions">
          ${choices.length > 0 && html`<button type="submit" name="decision" value="allow">Allow</button>`}
          <button type="submit" name="decision" value="deny" class="plain">Deny</button>
        </div>
      </form>
      <p class="hint">You can end this at any time: <a href="${paths.grants}">Access page</a></p>
      <details>
        <summary>Details</summary>
        <dl class="facts">
          <div>
            <dt>Access to</dt>
            <dd class="mono">${resource}</dd>
          </div>
          <div>
            <dt>Scopes</dt>
            <dd class="mono">${choices.map((scope) => scope.name).join(" ")}</dd>
          </div>
          <div>
            <dt>Access lasts</dt>
            <dd>${lifetimeWords(lifetimes, client)}</dd>
          </div>
        </dl>
      </details>
    `,
  });
}

/** Whether these scopes lead to files. */
export function asksForFiles(scopes: readonly string[]): boolean {
  return scopes.some((name) => name.startsWith("files:"));
}

/** What of the requested scopes the person may grant, as their groups are now. */
export function grantableScopes(requested: readonly string[], { mayGrant }: Account): readonly string[] {
  return mayGrant === null ? requested : requested.filter((name) => mayGrant.has(name));
}

// Enter in a box presses the form's first submit button (HTML, "Implicit submission"). This one closes the dialog that
// the form is in, and it is in none.
const noDefaultButton = html`<button type="submit" formmethod="dialog" hidden></button>`;

function scopeChoice(scope: ScopeDefinition, scopes: readonly string[], ticked: readonly string[]): Html {
  const including = scopeCatalogue.find(({ name, implies }) => scopes.includes(name) && implies.includes(scope.name));
  const checked = ticked.includes(scope.name) && html`checked`;
  return html`
    <label class="${including === undefined ? "scope" : "scope included"}">
      <input type="checkbox" name="scope" value="${scope.name}" ${checked}>
      <span>${scope.words}</span>
      ${including !== undefined && html`<small>Included in the next one.</small>`}
    </label>
  `;
}

/** Who vouches for the client's name: no one, the operator, or the domain of its metadata. */
function identityFact({ origin, id }: Client): Html {
  switch (origin) {
    case "registered":
      return html`Name not verified`;
    case "operator":
      return html`Added by the operator of this server`;
    case "metadata_document":
      return html`Published by <strong>${new URL(id).host}</strong>`;
  }
}

/** Where the answer goes, and the one caution that fits it. */
function destination(redirectUri: string, client: Client): { readonly name: string; readonly caution: Html } {
  const target = new URL(redirectUri);
  const application = nativeApplicationOf(redirectUri);
  if (target.protocol !== "https:") {
    return {
      name: application === null ? redirectTarget(redirectUri) : `${application} on this device`,
      caution:
        html`<p class="note plain">Only continue if you started this: any program on your computer could ask.</p>`,
    };
  }
  return {
    name: target.host,
    caution: client.origin === "registered"
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

/** How long access lasts: at most, and without use. A client that cannot renew it has it for as long as one token. */
function lifetimeWords(lifetimes: Lifetimes, client: Client): string {
  if (!client.grantTypes.includes("refresh_token")) {
    return `Up to ${durationWords(lifetimes.accessTokenLifetimeSeconds)}`;
  }
  const [most, unused] = [refreshTokenLifetimeSeconds, refreshIdleLifetimeSeconds].map(durationWords);
  return `Up to ${most}, or ${unused} without use`;
}
