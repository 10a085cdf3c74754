/** The page where a user decides what a client may do. */
import type { SignedIn } from "./browser_sessions.ts";
import { type Lifetimes, refreshTokenLifetimeSeconds } from "./context.ts";
import { factList, type InteractionOptions, mono, pathsOf, postForm, proofOf, type Waiting } from "./interaction.ts";
import type { Account } from "./manage_users.ts";
import type { Client } from "./records.ts";
import { nativeApplicationOf, redirectTarget } from "./redirect_uri.ts";
import { refreshIdleLifetimeSeconds } from "./token.ts";
import type { ServicenowStatus } from "./servicenow_port.ts";
import { type Html, html, pageResponse } from "../lib/page.ts";
import { scopeCatalogue, usesServicenow } from "../lib/scopes.ts";
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
  const form = html`
    ${noDefaultButton}
    <fieldset>
      <legend>This lets it</legend>
      ${choices.map(({ name, words }) =>
        choice({ field: "scope", value: name, words, isTicked: (ticked ?? scopes).includes(name) })
      )}
      ${beyond.length > 0 &&
        html`<p class="hint">Your groups do not let you allow this: ${
          beyond.map(({ words }) => words).join("; ")
        }.</p>`}
    </fieldset>
    ${directories.length > 0 && asksForFiles(scopes) && html`
      <fieldset>
        <legend>In these folders</legend>
        ${directories.map((directory) => choice({ field: "directory", value: directory, words: directory }))}
      </fieldset>
    `}
    <div class="actions">
      ${choices.length > 0 && html`<button type="submit" name="decision" value="allow">Allow</button>`}
      <button type="submit" name="decision" value="deny" class="plain">Deny</button>
    </div>
  `;
  return pageResponse({
    title,
    formsLeave: true,
    cookies,
    body: html`
      <h1>${title}</h1>
      ${problem !== undefined && html`<p class="note bad" role="alert">${problem}</p>`}
      ${caution}
      ${factList([
        ["Client", `“${client.name}”`, html`<span class="quiet">${identityFact(client)}</span>`],
        ["Redirects to", mono(name)],
        ["Workspace", workspace === undefined ? null : mono(workspace)],
        [
          "Account",
          account.displayName,
          html`<a href="${paths.signIn}?${new URLSearchParams({ request: handle }).toString()}">Not you?</a>`,
        ],
        ["ServiceNow account", servicenowAccount && accountWords(servicenowAccount)],
      ])}
      ${consentForm(options, waiting, account, form)}
      ${servicenowAccount !== null && servicenowAccount.state !== "linked" &&
        consentForm(options, waiting, account, linkFirst(servicenow?.instance.origin ?? ""))}
      <p class="hint"><a href="${paths.grants}">Revoke anytime</a></p>
      <details>
        <summary>Details</summary>
        ${factList([
          ["Access to", mono(resource)],
          ["Scopes", mono(choices.map((scope) => scope.name).join(" "))],
          ["Access lasts", lifetimeWords(lifetimes, client)],
        ])}
      </details>
    `,
  });
}

/** The offer to link an account before the decision: the application acts at the instance as the person. */
function linkFirst(origin: string): Html {
  return html`
    <p class="note plain">To use ServiceNow, the client needs your account at
      <strong class="mono">${new URL(origin).host}</strong>. You sign in there and come back here.</p>
    <div class="actions">
      <button type="submit" name="decision" value="link" class="plain">Link your ServiceNow account first</button>
    </div>
  `;
}

/** A form about a waiting request, which proves that it was shown to this user. */
function consentForm(options: InteractionOptions, waiting: Waiting, account: Account, shown: Html): Html {
  const proof = proofOf(options, waiting, account);
  const hidden = { request: waiting.handle, account: account.id, proof };
  return postForm(pathsOf(options.issuer).consent, Object.entries(hidden), shown);
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

function choice({ field, value, words, isTicked = true }: {
  readonly field: "scope" | "directory";
  readonly value: string;
  readonly words: string;
  readonly isTicked?: boolean;
}): Html {
  return html`
    <label class="scope">
      <input type="checkbox" name="${field}" value="${value}" ${isTicked && html`checked`}>
      <span>${words}</span>
    </label>
  `;
}

/** Who vouches for the client's name: no one, the operator, or the domain of its metadata. */
function identityFact({ origin, id }: Client): Html | string {
  switch (origin) {
    case "registered":
      return "Name not verified";
    case "operator":
      return "Added by the operator";
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
      caution: html`<p class="note plain">Only continue if you started this: any local program could ask.</p>`,
    };
  }
  return {
    name: target.host,
    caution: client.origin === "registered"
      ? html`
        <p class="note warn">Only continue if you started this: <strong>${target.host}</strong> gets this access.</p>
      `
      : html`<p class="note plain">Only continue if you started this.</p>`,
  };
}

function accountWords(status: ServicenowStatus): string {
  return status.state === "linked"
    ? `${status.account.name} (${status.account.userName})`
    : "Not linked yet: link it before you decide, or later.";
}

/** How long access lasts: at most, and without use. A client that cannot renew it has it for as long as one token. */
function lifetimeWords(lifetimes: Lifetimes, client: Client): string {
  if (!client.grantTypes.includes("refresh_token")) {
    return `Up to ${durationWords(lifetimes.accessTokenLifetimeSeconds)}`;
  }
  const [most, unused] = [refreshTokenLifetimeSeconds, refreshIdleLifetimeSeconds].map(durationWords);
  return `Up to ${most}, or ${unused} without use`;
}
