/** The page where a user sees and revokes what has access in their name, and signs out. */
import { durationWords } from "../lib/duration_words.ts";
import { type Html, html } from "../lib/html.ts";
import { scopeCatalogue } from "../lib/scopes.ts";
import type { OperatorTokenSummary } from "./operator_token.ts";
import type { ServicenowStatus } from "./servicenow_port.ts";
import type { Grant } from "./records/grant.ts";
import { dateAndTime } from "../lib/date_and_time.ts";
import { pageResponse } from "../lib/page.ts";

interface GrantsPage {
  readonly action: string;
  readonly signOutAction: string;
  readonly homePath: string;
  /** `null` where there is no console. */
  /** The link page and what it would say; `null` where there is no instance. */
  readonly servicenow: { readonly path: string; readonly status: ServicenowStatus } | null;
  readonly csrf: string;
  readonly userName: string;
  readonly grants: readonly Grant[];
  /** Access tokens made for this user at the command line. */
  readonly tokens: readonly OperatorTokenSummary[];
  /** Where the next part of the list is. */
  readonly next: string | null;
  /** Whether this is a later part of the list. */
  readonly isContinued: boolean;
  /** Lifetime of an access token: an application in use asks for another at least this often. */
  readonly tokenSeconds: number;
  /** Something was revoked just now. */
  readonly hasRevoked: boolean;
}

function scopeList(scopes: readonly string[]): Html {
  const words = scopeCatalogue.filter(({ name }) => scopes.includes(name)).map((scope) => scope.words);
  return html`<ul class="plain">${words.map((text) => html`<li>${text}</li>`)}</ul>`;
}

function revokeForm(
  { action, csrf }: GrantsPage,
  { field, id }: { readonly field: "grant" | "token"; readonly id: string },
): Html {
  return html`
    <form method="post" action="${action}">
      <input type="hidden" name="csrf" value="${csrf}">
      <input type="hidden" name="${field}" value="${id}">
      <button type="submit" class="plain small" aria-describedby="${field}-${id}">Revoke</button>
    </form>
  `;
}

function grantItem(grant: Grant, page: GrantsPage): Html {
  const renewed = grant.refresh?.lastUsedAt ?? grant.createdAt;
  return html`
    <li class="grant">
      <h2 id="grant-${grant.id}">${grant.clientName}</h2>
      ${scopeList(grant.scopes)}
      <p class="quiet">Allowed on ${dateAndTime(grant.createdAt)}${grant.redirectHost !== null &&
        html`, via <span class="mono">${grant.redirectHost}</span>`}.<br>
        Last requested a token on ${dateAndTime(renewed)}${grant.address !== undefined &&
          html`, from <span class="mono">${grant.address}</span>`}.</p>
      ${revokeForm(page, { field: "grant", id: grant.id })}
    </li>
  `;
}

function tokenItem(token: OperatorTokenSummary, page: GrantsPage): Html {
  return html`
    <li class="grant">
      <h2 id="token-${token.id}">${token.name === "" ? "Unnamed token" : token.name}</h2>
      ${scopeList(token.scopes)}
      <p class="quiet">Created at the command line on ${dateAndTime(token.createdAt)}.<br>
        Expires on ${dateAndTime(token.expiresAt)}.</p>
      ${revokeForm(page, { field: "token", id: token.id })}
    </li>
  `;
}

function applications({ grants, next, isContinued }: GrantsPage, items: readonly Html[]): Html {
  if (grants.length === 0 && next === null) {
    return isContinued ? html`<p>This is the end of the list.</p>` : html`<p>No application has access.</p>`;
  }
  return html`<ul class="plain">${items}</ul>${next !== null && html`<p><a href="${next}">More applications</a></p>`}`;
}

function servicenowLine({ path, status }: NonNullable<GrantsPage["servicenow"]>): Html {
  return status.state === "linked"
    ? html`<p>Your ServiceNow account is ${status.account.name} (${status.account.userName}).
      <a href="${path}">Change it, or unlink it</a></p>`
    : html`<p>No ServiceNow account works for you here. <a href="${path}">Link your ServiceNow account</a></p>`;
}

export function grantsPage(page: GrantsPage): Response {
  const { grants, tokens, userName, signOutAction, csrf } = page;
  return pageResponse({
    title: "Access",
    body: html`
      <h1>Access</h1>
      <p class="quiet">Signed in as <strong>${userName}</strong>. Revoking takes effect at once.</p>
      ${page.hasRevoked ? html`<p class="note good" role="status">Access revoked.</p>` : null}
      ${applications(page, grants.map((grant) => grantItem(grant, page)))}
      ${grants.length > 0 &&
        html`<p class="hint">An access token lasts ${durationWords(page.tokenSeconds)}: an application in use
        requests one at least that often.</p>`}
      ${page.isContinued ? html`<p><a href="${page.action}">Back to the start of the list</a></p>` : null}
      ${page.servicenow && servicenowLine(page.servicenow)}
      ${tokens.length === 0 ? null : html`
        <h2>Tokens for scripts</h2>
        <ul class="plain">${tokens.map((token) => tokenItem(token, page))}</ul>
      `}
      <form method="post" action="${signOutAction}">
        <input type="hidden" name="csrf" value="${csrf}">
        <div class="actions"><button type="submit" class="plain">Sign out</button></div>
      </form>
      <p class="hint"><a href="${page.homePath}">How to connect an application</a></p>
    `,
  });
}

export function signedOutPage(signInPath: string, cookie: string): Response {
  return pageResponse({
    title: "Signed out",
    cookies: [cookie],
    body: html`
      <h1>You are signed out</h1>
      <p>Applications keep the access you allowed. <a href="${signInPath}">Sign in</a> to revoke it.</p>
    `,
  });
}
