/** Connections: every client with its grant, and the tokens of the command line; one click ends one. */
import {
  type AccessList,
  accountName,
  type Administration,
  type LinkHealth,
  linkProblem,
  type ListedGrant,
  type Vouching,
} from "../../oauth/mod.ts";
import { type Html, html } from "../../lib/page.ts";
import type { Usage } from "./day_of_calls.ts";
import { actButton, actFields } from "./frame.ts";
import {
  ago,
  type ConsoleSources,
  dataTable,
  type LiveParts,
  pageOf,
  personColumn,
  type Section,
  type ServicenowAccounts,
  textField,
  timeCursor,
  type Visit,
  withCode,
} from "./section.ts";

/** Rows of one page. */
const rowsShown = 100;

type Lists = Pick<ConsoleSources, "toolListTokens"> & {
  readonly access: AccessList;
  readonly used: ReadonlyMap<string, Usage>;
};

/** Clients and command-line tokens with access; administrators also approve clients that act in their own name. */
export function connectionsSection(
  { administration, toolListTokens, servicenow, companyLink }: ConsoleSources,
  usage: () => Promise<ReadonlyMap<string, Usage>>,
): Section {
  const listsOf = async (visit: Visit): Promise<LiveParts> => {
    const of = visit.visitor.isAdministrator ? visit.query.get("person") : visit.visitor.userId;
    const [access, used] = await Promise.all([administration.access(of), usage()]);
    const page = pageOf(access.grants, visit, {
      ...{ section: "connections", name: "after", words: "Used before these", size: rowsShown, falling: true },
      cursorOf: ({ renewedAt, id }) => timeCursor(renewedAt, id),
    });
    const vouching = await administration.vouchingFor(page.shown.map(({ clientId }) => clientId));
    const lists = { access, used, toolListTokens };
    return { grants: grantsTable(lists, page, vouching, visit), tokens: tokensTable(lists, visit) };
  };
  return {
    name: "connections",
    title: "Connections",
    tab: "Applications",
    live: listsOf,
    async show(visit) {
      const { grants, tokens } = await listsOf(visit);
      const person = visit.query.get("person");
      return html`
        <p class="quiet">Removing access takes effect immediately. Calls and errors: last 24 hours.</p>
        ${visit.visitor.isAdministrator && person !== null &&
          html`<p>Only those of <strong>${person}</strong>. <a href="${
            visit.href("connections")
          }">Show everyone's</a></p>`}
        ${companyLink !== null &&
          html`<p>${
            visit.visitor.byCompany
              ? "You are signed in with your company account."
              : html`<a href="${companyLink}">Your company account</a>`
          }</p>`}
        ${servicenow && await ownAccount(servicenow, visit)}
        ${visit.visitor.isAdministrator && heldPart(await administration.heldClients(), administration.scopes, visit)}
        <h2>Clients</h2>
        <div id="grants">${grants}</div>
        ${visit.visitor.isAdministrator && applicationForm(visit)}
        ${visit.visitor.isAdministrator && administration.addAssertingClient !== null && assertingForm(visit)}
        <h2>Tokens from the command line</h2>
        <div id="tokens">${tokens}</div>
      `;
    },
    acts: {
      end: {
        done: "Access removed.",
        async run({ visitor, form, address }) {
          const what = { grant: form.get("grant"), token: form.get("token") };
          return await administration.end(what, { ...visitor, address })
            ? "done"
            : { problem: "This application no longer has access." };
        },
      },
      approve: {
        done: "The client was approved.",
        forAdministrators: true,
        confirm: () => "approve a client",
        async run({ visitor, form, address }) {
          const approval = { id: form.get("client") ?? "", scope: form.getAll("scope").join(" ") };
          const approved = await administration.approveClient(approval, { ...visitor, address });
          if (approved.ok) return "done";
          const isGone = approved.error.field === "id";
          return { problem: isGone ? notWaiting : "Choose at least one scope for the client." };
        },
      },
      add: {
        done: "The application was added.",
        forAdministrators: true,
        confirm: () => "add an application",
        async run({ visitor, form, address }) {
          const [name, callback] = ["name", "callback"].map((field) => (form.get(field) ?? "").trim());
          const added = await administration.addApplication(name ?? "", callback ?? "", { ...visitor, address });
          if (added.ok) {
            return { done: `${added.value.client.name} was added. Its client ID: ${added.value.client.id}` };
          }
          return { problem: added.error.field === "name" ? "Enter a name." : `This callback ${added.error.message}.` };
        },
      },
      vouch: {
        done: "The application was added.",
        forAdministrators: true,
        confirm: () => "add an application",
        async run({ visitor, form, address, href }) {
          const added = await administration.addAssertingClient?.((form.get("application") ?? "").trim(), {
            ...visitor,
            address,
          });
          if (!added?.ok) return { problem: "Enter a name." };
          const { client, secret } = added.value;
          return html`
            <p><strong>${client.name}</strong> was added. Enter these in the application, and the client ID at the
                          company's provider too. The secret is shown once.</p>
            <pre>${`Client ID: ${client.id}\nClient secret: ${secret ?? ""}`}</pre>
            <p><a href="${href("connections")}">Back to Connections</a></p>
          `;
        },
      },
      refuse: {
        done: "The client was removed.",
        forAdministrators: true,
        async run({ visitor, form, address }) {
          const isRemoved = await administration.refuseClient(form.get("client") ?? "", { ...visitor, address });
          return isRemoved ? "done" : { problem: notWaiting };
        },
      },
    },
  };
}

const notWaiting = "This client no longer waits for approval.";

/** Clients that want access in their own name, each with a form that names its scopes. */
function heldPart(
  held: Awaited<ReturnType<Administration["heldClients"]>>,
  offered: readonly string[],
  visit: Visit,
): Html | null {
  if (held.length === 0) return null;
  const items = held.map(({ id, name, scopes, registeredAt }) =>
    html`
      <li>
        <p><strong>${name}</strong> <span class="badge warn">Name not verified</span><br>
              <span class="quiet">${id}, registered ${ago(
                registeredAt,
                visit.now,
              )} with the registration token</span></p>
        <form method="post" action="${visit.href("connections")}">${actFields(visit.visitor, "approve", { client: id })}
              ${offered.map((scope) =>
                html`
                  <label class="choice"><input type="checkbox" name="scope" value="${scope}" ${scopes.includes(scope) &&
                    html`checked`}> ${scope}</label>
                `
              )}
              <button type="submit" class="small" aria-label="Approve ${name}">Approve</button></form>
        ${actButton(visit, "connections", "refuse", "Remove", {
          values: { client: id },
          kind: "danger",
          name: `Remove ${name}`,
        })}
      </li>
    `
  );
  return html`
    <h2>Waiting for approval</h2>
    <p>These clients ask for access in their own name, without a person (client credentials). They get no token until
      you choose what they may use.</p>
    <ul class="plain">${items}</ul>
  `;
}

const maxNameCharacters = 100;
const maxCallbackCharacters = 2_048;

/** A folded form of further applications. */
function addForm(visit: Visit, act: string, summary: string, words: string, fields: Html): Html {
  return html`
    <details>
      <summary>${summary}</summary>
      <p>${words}</p>
      <form method="post" action="${visit.href("connections")}" class="row">
        ${actFields(visit.visitor, act)} ${fields}
        <button type="submit" class="small">Add</button>
      </form>
    </details>
  `;
}

/** For an application that cannot register by itself, or whose callback has a scheme of its own. */
function applicationForm(visit: Visit): Html {
  const words = "For an application that asks for a client ID, or whose callback is refused. Everyone still chooses " +
    "what it may do.";
  const callback = "Callback, as in com.example.app:/callback";
  const fields = html`${textField("name", "Name", "", maxNameCharacters, true)}
    ${textField("callback", callback, "", maxCallbackCharacters, true)}`;
  return addForm(visit, "add", "Add an application", words, fields);
}

/** For an application that the company's provider signs people in to (OIDC_ASSERTIONS). */
function assertingForm(visit: Visit): Html {
  const words = "People use it without a sign-in page here: the company's provider vouches for them (ID-JAG). Their " +
    "groups limit what it may do.";
  const field = textField("application", "Name", "", maxNameCharacters, true);
  return addForm(visit, "vouch", "Add an application of the company", words, field);
}

function endForm(visit: Visit, kind: "grant" | "token", id: string, name: string): Html {
  return actButton(visit, "connections", "end", "Remove access", {
    ...{ values: { [kind]: id }, kind: "danger", name: `Remove access of ${name}` },
  });
}

function grantsTable(
  { access: { isCut }, used, toolListTokens }: Lists,
  { shown, next }: ReturnType<typeof pageOf<ListedGrant>>,
  vouching: ReadonlyMap<string, Vouching>,
  visit: Visit,
): Html {
  const rows = shown.map((grant) => [
    clientCell(grant, vouching.get(grant.clientId) ?? { by: "none" }),
    personCell(grant.subject, visit),
    scopesCell(grant.scopes, toolListTokens),
    ago(grant.createdAt, visit.now),
    usedCell(used.get(grant.id)?.lastAt ?? grant.renewedAt, grant.address, visit),
    callsCell(used.get(grant.id)?.calls ?? 0, grant.clientId, visit),
    used.get(grant.id)?.errors ?? 0,
    endForm(visit, "grant", grant.id, grant.clientName),
  ]);
  const table = dataTable({
    caption: "Most recently used first",
    columns: [
      ...["Client", personColumn(visit), "Scopes", "Allowed", "Last used"],
      ...[{ number: "Calls" }, { number: "Errors" }, "Actions"],
    ],
    rows,
    whenEmpty: "No client has access.",
  });
  return html`${table}${next}${
    isCut && html`<p class="quiet">Not all are shown. Choose a person under
    People to see all of theirs.</p>`
  }`;
}

function clientCell({ clientName, redirectHost }: ListedGrant, vouching: Vouching): Html {
  const badge = vouching.by === "none"
    ? html`<span class="badge warn">Name not verified</span>`
    : html`<span class="badge good">${
      vouching.by === "domain" ? `Published by ${vouching.domain}` : "Added by the operator"
    }</span>`;
  return html`<strong>${clientName}</strong><br>${badge}${
    redirectHost !== null && html`
      <span class="quiet">redirects to ${redirectHost}</span>
    `
  }`;
}

function personCell(subject: string, visit: Visit): Html {
  return visit.visitor.isAdministrator
    ? html`<a href="${visit.href("connections", { person: subject })}">${subject}</a>`
    : html`${subject}`;
}

function usedCell(at: number, address: string | undefined, visit: Visit): Html {
  return html`${ago(at, visit.now)}${address !== undefined && html`<br><span class="quiet">from ${address}</span>`}`;
}

/** How many, leading to them in Activity. */
function callsCell(count: number, client: string, visit: Visit): Html | number {
  return count === 0 ? 0 : html`<a href="${visit.href("activity", { client })}">${count}</a>`;
}

function scopesCell(scopes: readonly string[], toolListTokens: Lists["toolListTokens"]): Html {
  return html`${scopes.join(", ")}<br><span class="quiet">tool list: about ${toolListTokens(scopes)} tokens</span>`;
}

function tokensTable({ access: { tokens }, used, toolListTokens }: Lists, visit: Visit): Html {
  const { shown, next } = pageOf(tokens, visit, {
    ...{ section: "connections", name: "tokens", words: "Made before these", size: rowsShown, falling: true },
    cursorOf: ({ createdAt, id }) => timeCursor(createdAt, id),
  });
  const rows = shown.map((token) => {
    const name = token.name === "" ? "Unnamed token" : token.name;
    const lastAt = used.get(token.id)?.lastAt;
    return [
      html`<strong>${name}</strong><br><code>${token.id.slice(0, 8)}</code>`,
      personCell(token.userId, visit),
      scopesCell(token.scopes, toolListTokens),
      ago(token.createdAt, visit.now),
      ago(token.expiresAt, visit.now),
      lastAt === undefined ? "not in the last 24 hours" : ago(lastAt, visit.now),
      used.get(token.id)?.calls ?? 0,
      endForm(visit, "token", token.id, name),
    ];
  });
  const table = dataTable({
    caption: "Newest first",
    columns: [
      ...["Token", personColumn(visit), "Scopes", "Created", "Expires", "Last used"],
      ...[{ number: "Calls" }, "Actions"],
    ],
    rows,
    whenEmpty: withCode("None. Create one with `portcullis token create`."),
  });
  return html`${table}${next}`;
}

// ServiceNow: the visitor's linked account, and everyone's for an administrator: since when, last used, and what ended
// it.

/** The visitor's own account, and where to link one. */
async function ownAccount({ linkPath, health }: ServicenowAccounts, { visitor }: Visit): Promise<Html> {
  const [own] = await health(visitor.userId);
  if (own?.state === "linked") {
    return html`<p>Your account is ${accountName(own)}. <a href="${linkPath}">Change it, or unlink it</a></p>`;
  }
  const problem = own === undefined ? "You have linked no account." : linkProblem(own);
  return html`<p class="note warn">${problem} <a href="${linkPath}">Link your ServiceNow account</a></p>`;
}

/** Where an instance is configured: who has linked which account. */
export function servicenowSection(options: ServicenowAccounts): Section {
  const { origin, health } = options;
  const live = async (visit: Visit): Promise<LiveParts> => ({
    own: await ownAccount(options, visit),
    links: visit.visitor.isAdministrator ? linksTable(await health(null), visit) : html``,
  });
  return {
    name: "servicenow",
    title: "ServiceNow",
    place: "connections",
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
