/** ServiceNow: the visitor's linked account, and everyone's for an administrator: since when, last used, and what ended it. */
import { accountName, type LinkHealth, linkProblem } from "../../oauth/mod.ts";
import { type Html, html } from "../../lib/page.ts";
import type { LiveParts, Section, Visit } from "./section.ts";
import { ago, dataTable, personColumn } from "./words.ts";

interface ServicenowOptions {
  readonly origin: string;
  /** The page where a person links an account. */
  readonly linkPath: string;
  /** The links of one person, or of all. */
  health(subject: string | null): Promise<readonly LinkHealth[]>;
}

/** The visitor's own account, and where to link one. */
export async function ownAccount({ linkPath, health }: ServicenowOptions, { visitor }: Visit): Promise<Html> {
  const [own] = await health(visitor.userId);
  if (own?.state === "linked") {
    return html`<p>Your account is ${accountName(own)}. <a href="${linkPath}">Change it, or unlink it</a></p>`;
  }
  const problem = own === undefined ? "You have linked no account." : linkProblem(own);
  return html`<p class="note warn">${problem} <a href="${linkPath}">Link your ServiceNow account</a></p>`;
}

export function servicenowSection(options: ServicenowOptions): Section {
  const { origin, health } = options;
  const live = async (visit: Visit): Promise<LiveParts> => ({
    own: await ownAccount(options, visit),
    links: visit.visitor.isAdministrator ? linksTable(await health(null), visit) : html``,
  });
  return {
    name: "servicenow",
    title: "ServiceNow",
    live,
    async show(visit) {
      const { own, links } = await live(visit);
      return html`
        <p>Agents use <strong>${new URL(origin).host}</strong> with the account that each person has linked.</p>
        <div id="own">${own}</div>
        ${visit.visitor.isAdministrator && html`<h2>Linked accounts</h2>`}
        <div id="links">${links}</div>
      `;
    },
  };
}

function linksTable(links: readonly LinkHealth[], visit: Visit): Html {
  return dataTable({
    caption: "One row a person. “Last used” is when the link was last renewed, which use does about every half hour.",
    columns: [personColumn(visit), "Account", "State", "Linked", "Last used"],
    rows: links.map((link) => [
      link.subject,
      accountName(link),
      stateCell(link, visit),
      ago(link.linkedAt, visit.now),
      link.state === "linked" ? ago(link.renewedAt, visit.now) : "",
    ]),
    whenEmpty: "No one has linked an account.",
  });
}

function stateCell(link: LinkHealth, visit: Visit): Html {
  const problem = linkProblem(link);
  if (problem === null) return html`<span class="badge good">Linked</span>`;
  return html`<span class="badge bad">Has to be linked again</span><br><span class="quiet">${problem} ${
    link.refusedAt !== null && ago(link.refusedAt, visit.now)
  }</span>`;
}
