/** The page on which a person sees what they allowed, takes it back, and signs out. */
import { type Html, html } from "../../lib/html.ts";
import { scopeCatalogue } from "../../scopes.ts";
import type { Grant } from "../records/grant.ts";
import { pageResponse } from "../../lib/page.ts";

/** What the grants page shows. */
export interface GrantsPage {
  readonly action: string;
  readonly signOutAction: string;
  readonly csrf: string;
  readonly userName: string;
  readonly grants: readonly Grant[];
}

function day(time: number): Html {
  const date = new Date(time);
  const words = date.toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
  return html`<time datetime="${date.toISOString()}">${words}</time>`;
}

function grantItem(grant: Grant, { action, csrf }: GrantsPage): Html {
  const words = scopeCatalogue.filter(({ name }) => grant.scopes.includes(name)).map((scope) => scope.words);
  const used = grant.refresh?.lastUsedAt ?? grant.createdAt;
  return html`
    <li class="grant">
      <h2 id="grant-${grant.id}">${grant.clientName}</h2>
      <ul class="plain">${words.map((text) => html`<li>${text}</li>`)}</ul>
      <p class="quiet">Allowed ${day(grant.createdAt)}, last renewed ${day(used)}${grant.redirectHost === null
        ? null
        : html`, through <span class="mono">${grant.redirectHost}</span>`}</p>
      <form method="post" action="${action}">
        <input type="hidden" name="csrf" value="${csrf}">
        <input type="hidden" name="grant" value="${grant.id}">
        <button type="submit" class="plain small" aria-describedby="grant-${grant.id}">Take back</button>
      </form>
    </li>
  `;
}

/** Renders the grants page. */
export function grantsPage(page: GrantsPage): Response {
  const { grants, userName, signOutAction, csrf } = page;
  return pageResponse({
    title: "Access you gave",
    body: html`
      <h1>Access you gave</h1>
      <p class="quiet">Signed in as <strong>${userName}</strong>. What you take back ends at once.</p>
      ${grants.length === 0
        ? html`<p>No application has access now.</p>`
        : html`<ul class="plain">${grants.map((grant) => grantItem(grant, page))}</ul>`}
      <form method="post" action="${signOutAction}">
        <input type="hidden" name="csrf" value="${csrf}">
        <div class="actions"><button type="submit" class="plain">Sign out</button></div>
      </form>
    `,
  });
}

/** Renders the page after signing out. */
export function signedOutPage(signInPath: string, cookie: string): Response {
  return pageResponse({
    title: "Signed out",
    cookies: [cookie],
    body: html`
      <h1>You are signed out</h1>
      <p>Applications keep the access that you gave them. <a href="${signInPath}">Sign in</a> to take it back.</p>
    `,
  });
}
