/**
 * Connections: every client with its grant, tokens of the command line, accounts at ServiceNow; one click ends one. And
 * Troubleshooting: each attempt of a client to connect, with its steps and a diagnosis.
 */
import { accountName, linkProblem } from "../../oauth/mod.ts";
import type { AccessList, Administration, LinkHealth, ListedGrant, Vouching } from "../../oauth/mod.ts";
import { type Html, html, noDefaultButton } from "../../lib/page.ts";
import { failure, success } from "../../lib/result.ts";
import { type DayOfCalls, lastDay } from "./day_of_calls.ts";
import { actButton, actFields } from "./frame.ts";
import { ago, dataTable, pageOf, personColumn, textField, timeCursor, withCode } from "./section.ts";
import type { ConsoleSources, Section, Visit } from "./section.ts";
import { type AttemptReport, stepWords } from "../connections/report.ts";

/** Rows of one page. */
const rowsShown = 100;

/** Clients and command-line tokens with access; administrators also approve clients that act in their own name. */
export function connectionsSection(
  { administration, servicenow, companyLink }: ConsoleSources,
  usage: DayOfCalls["usage"],
): Section {
  return {
    name: "connections",
    title: "Connections",
    tab: "Clients",
    async live(visit) {
      const { isAdministrator, userId } = visit.visitor;
      const of = isAdministrator ? visit.query.get("person") : userId;
      const [access, used] = await Promise.all([administration.access(of), usage()]);
      return {
        account: html`${servicenow && await ownAccount(servicenow, visit)}`,
        grants: await grantsTable(administration, access, used, visit),
        tokens: tokensTable(access, used, visit),
        links: html`${
          servicenow && isAdministrator && linksTable(servicenow.origin, await servicenow.health(null), visit)
        }`,
      };
    },
    async show(visit, { account, grants, tokens, links }) {
      const { isAdministrator, byCompany } = visit.visitor;
      const person = visit.query.get("person");
      const company = byCompany
        ? "You are signed in with your company account."
        : html`<a href="${companyLink ?? ""}">Your company account</a>`;
      return html`
        ${isAdministrator && person !== null && html`
          <p>Only those of <strong>${person}</strong>. <a href="${visit.href("connections")}">Show everyone's</a></p>
        `}
        ${companyLink !== null && html`<p>${company}</p>`}
        ${account}
        ${isAdministrator && heldPart(await administration.heldClients(), administration.scopes, visit)}
        ${grants}
        ${isAdministrator && applicationForm(visit)}
        ${isAdministrator && administration.addAssertingClient !== null && assertingForm(visit)}
        <h2>Command-line tokens</h2>
        ${tokens}
        ${links}
      `;
    },
    acts: {
      end: {
        async run({ by, form }) {
          const isEnded = await administration.end({ grantId: form.get("grant"), tokenId: form.get("token") }, by);
          return isEnded
            ? success("Access removed. Its next request is refused.")
            : failure("This client no longer has access.");
        },
      },
      approve: {
        forAdministrators: true,
        confirm: "approve a client",
        async run({ by, form }) {
          const approval = { id: form.get("client") ?? "", scope: form.getAll("scope").join(" ") };
          const approved = await administration.approveClient(approval, by);
          if (approved.ok) return success("The client was approved.");
          return failure(approved.error.field === "id" ? notWaiting : "Choose at least one scope for the client.");
        },
      },
      add: {
        forAdministrators: true,
        confirm: "add a client",
        async run({ by, form }) {
          const [name, callback] = ["name", "callback"].map((field) => (form.get(field) ?? "").trim());
          const added = await administration.addApplication(name ?? "", callback ?? "", by);
          if (added.ok) return success(`${added.value.client.name} was added. Its client ID: ${added.value.client.id}`);
          return failure(added.error.field === "name" ? "Enter a name." : `This callback ${added.error.message}.`);
        },
      },
      vouch: {
        forAdministrators: true,
        confirm: "add a client",
        async run({ by, form, href }) {
          const added = await administration.addAssertingClient?.((form.get("application") ?? "").trim(), by);
          if (!added?.ok) {
            return failure(
              added?.error.field === "id" ? "No client with a secret or key of its own has this ID." : "Enter a name.",
            );
          }
          const { client, secret } = added.value;
          if (secret === null) return success(`The company's provider may vouch for people of ${client.name}.`);
          return html`
            <p><strong>${client.name}</strong> was added. Enter these in the client, and the client ID at the
                          company's provider too. The secret is shown once.</p>
            <pre>${`Client ID: ${client.id}\nClient secret: ${secret ?? ""}`}</pre>
            <p><a href="${href("connections")}">Back to Connections</a></p>
          `;
        },
      },
      refuse: {
        forAdministrators: true,
        async run({ by, form }) {
          const isRemoved = await administration.refuseClient(form.get("client") ?? "", by);
          return isRemoved ? success("The client was removed.") : failure(notWaiting);
        },
      },
    },
  };
}

const notWaiting = "This client no longer waits for approval.";

/** Clients that want access in their own name, each with a form that names its scopes. */
function heldPart(held: Awaited<ReturnType<Administration["heldClients"]>>, offered: readonly string[], visit: Visit) {
  if (held.length === 0) return null;
  const items = held.map(({ id, name, scopes, registeredAt }) => {
    const choices = offered.map((scope) => {
      const checked = scopes.includes(scope) && html`checked`;
      return html`<label class="choice"><input type="checkbox" name="scope" value="${scope}" ${checked}> ${scope}</label>`;
    });
    const facts = html`${id}, registered ${ago(registeredAt, visit.now)} with the registration token`;
    const removal = { values: { client: id }, kind: "danger", about: name } as const;
    return html`
      <li>
        <p><strong>${name}</strong> <span class="badge warn">Name not verified</span><br>
          <span class="quiet">${facts}</span></p>
        <form method="post" action="${visit.href("connections")}">
          ${noDefaultButton} ${actFields(visit.visitor, "approve", { client: id })} ${choices}
          <button type="submit" class="small" aria-label="Approve ${name}">Approve</button></form>
        ${actButton(visit, "connections", "refuse", "Remove", removal)}
      </li>
    `;
  });
  return html`
    <h2>Waiting for approval</h2>
    <p>These clients ask for access in their own name, without a person (client credentials). They get no token until
      you choose what they may use.</p>
    <ul class="plain">${items}</ul>
  `;
}

const maxNameCharacters = 100;
const maxCallbackCharacters = 2_048;

/** A folded form of further clients. */
function addForm(visit: Visit, act: string, summary: string, words: string, fields: readonly Html[]): Html {
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

/** For a client that cannot register by itself, or whose callback has a scheme of its own. */
function applicationForm(visit: Visit): Html {
  const words = "For a client that asks for a client ID, or whose callback is refused. Everyone still chooses " +
    "what it may do.";
  const callback = "Callback, as in com.example.app:/callback";
  return addForm(visit, "add", "Add a client", words, [
    textField("name", "Name", "", maxNameCharacters, true),
    textField("callback", callback, "", maxCallbackCharacters, true),
  ]);
}

/** For a client that the company's provider signs people in to (OIDC_ASSERTIONS). */
function assertingForm(visit: Visit): Html {
  const words = "People use it without a sign-in page here: the company's provider vouches for them (ID-JAG). Their " +
    "groups limit what it may do.";
  const fields = [
    textField("application", "Name, or the client ID of one that is registered", "", maxNameCharacters, true),
  ];
  return addForm(visit, "vouch", "Add a client of the company", words, fields);
}

function endForm(visit: Visit, kind: "grant" | "token", id: string, name: string): Html {
  const options = { values: { [kind]: id }, kind: "danger", about: `of ${name}` } as const;
  return actButton(visit, "connections", "end", "Remove access", options);
}

type Usage = Awaited<ReturnType<DayOfCalls["usage"]>>;

async function grantsTable(administration: Administration, { grants, isCut }: AccessList, used: Usage, visit: Visit) {
  const { shown, next } = pageOf(grants, visit, {
    ...{ section: "connections", name: "after", words: "Used before these", size: rowsShown, falling: true },
    cursorOf: ({ renewedAt, id }) => timeCursor(renewedAt, id),
  });
  const vouching = await administration.vouchingFor(shown.map(({ clientId }) => clientId));
  const rows = shown.map((grant) => {
    const { id, clientId, clientName, subject, scopes, createdAt, renewedAt, address } = grant;
    const { calls, errors, lastAt } = used.of(id);
    const unseen = lastAt === undefined && used.since !== null && `not ${used.since}; renewed `;
    const from = address !== undefined && html`<br><span class="quiet">from ${address}</span>`;
    return [
      clientCell(grant, vouching.get(clientId) ?? { by: "none" }),
      personCell(subject, visit),
      scopes.join(", "),
      ago(createdAt, visit.now),
      html`${unseen}${ago(lastAt ?? renewedAt, visit.now)}${from}`,
      calls === 0 ? 0 : html`<a href="${visit.href("activity", { client: clientId })}">${calls}</a>`,
      errors,
      endForm(visit, "grant", id, clientName),
    ];
  });
  const person = personColumn(visit);
  const columns = ["Client", person, "Scopes", "Allowed", "Last used", callsHeading(used), "#Errors", "Actions"];
  const table = dataTable("Most recently used first", columns, rows, "No client has access.");
  const rest = isCut &&
    html`<p class="quiet">Not all are shown. Choose a person under People to see all of theirs.</p>`;
  return html`${table}${next}${rest}`;
}

function callsHeading({ since }: Usage): string {
  return `#Calls${since === null ? ", 24 h" : ` ${since}`}`;
}

function clientCell({ clientName, redirectHost }: ListedGrant, vouching: Vouching): Html {
  const words = vouching.by === "domain" ? `Published by ${vouching.domain}` : "Added by the operator";
  const badge = vouching.by === "none"
    ? html`<span class="badge warn">Name not verified</span>`
    : html`<span class="badge good">${words}</span>`;
  const host = redirectHost !== null && html`
    <span class="quiet">redirects to ${redirectHost}</span>
  `;
  return html`<strong>${clientName}</strong><br>${badge}${host}`;
}

function personCell(subject: string, { visitor, href }: Visit): Html | string {
  return visitor.isAdministrator ? html`<a href="${href("connections", { person: subject })}">${subject}</a>` : subject;
}

function tokensTable({ tokens }: AccessList, used: Usage, visit: Visit): Html {
  const { shown, next } = pageOf(tokens, visit, {
    ...{ section: "connections", name: "tokens", words: "Made before these", size: rowsShown, falling: true },
    cursorOf: ({ createdAt, id }) => timeCursor(createdAt, id),
  });
  const rows = shown.map(({ id, name: given, userId, scopes, createdAt, expiresAt }) => {
    const name = given === "" ? "Unnamed token" : given;
    const { lastAt, calls } = used.of(id);
    return [
      html`<strong>${name}</strong><br><code>${id.slice(0, 8)}</code>`,
      personCell(userId, visit),
      scopes.join(", "),
      ago(createdAt, visit.now),
      ago(expiresAt, visit.now),
      lastAt === undefined ? `not ${used.since ?? lastDay}` : ago(lastAt, visit.now),
      calls,
      endForm(visit, "token", id, name),
    ];
  });
  const person = personColumn(visit);
  const columns = ["Token", person, "Scopes", "Created", "Expires", "Last used", callsHeading(used), "Actions"];
  const whenEmpty = withCode("None. Create one with `portcullis token create`.");
  return html`${dataTable("Newest first", columns, rows, whenEmpty)}${next}`;
}

/** The visitor's own account at ServiceNow, and where to link one. */
async function ownAccount(
  { linkPath, health }: NonNullable<ConsoleSources["servicenow"]>,
  { visitor }: Visit,
): Promise<Html> {
  const [own] = await health(visitor.userId);
  if (own?.state === "linked") {
    return html`<p>Your ServiceNow account is ${
      accountName(own)
    }. <a href="${linkPath}">Change it, or unlink it</a></p>`;
  }
  const problem = own === undefined ? "You have linked no account." : linkProblem(own);
  return html`<p class="note warn">${problem} <a href="${linkPath}">Link your ServiceNow account</a></p>`;
}

/** Everyone's accounts there: since when, last used, and what ended a link. */
function linksTable(origin: string, links: readonly LinkHealth[], visit: Visit): Html {
  const rows = links.map((link) => [
    ...[link.subject, accountName(link), stateCell(link, visit), ago(link.linkedAt, visit.now)],
    link.state === "linked" ? ago(link.renewedAt, visit.now) : "",
  ]);
  const caption =
    "One row a person. “Last used” is when the link was last renewed, which use does about every half hour.";
  const columns = [personColumn(visit), "Account", "State", "Linked", "Last used"];
  const table = dataTable(caption, columns, rows, "No one has linked an account.");
  return html`<h2>Accounts at ${new URL(origin).host}</h2>${table}`;
}

function stateCell(link: LinkHealth, visit: Visit): Html {
  const problem = linkProblem(link);
  if (problem === null) return html`<span class="badge good">Linked</span>`;
  const when = link.refusedAt !== null && ago(link.refusedAt, visit.now);
  return html`<span class="badge bad">Has to be linked again</span><br><span class="quiet">${problem} ${when}</span>`;
}

/** What clients did to connect and why one stopped; for administrators what to check where none arrived. */
export function whySection({ issuer, attempts }: ConsoleSources): Section {
  return {
    name: "why",
    title: "Troubleshooting",
    place: "connections",
    async live(visit) {
      const { isAdministrator, userId } = visit.visitor;
      return { attempts: attemptList(await attempts(isAdministrator ? null : userId, visit.now), visit) };
    },
    show: (visit, parts) =>
      html`
        <p class="quiet">Last 24 hours</p>
        ${parts["attempts"]} ${visit.visitor.isAdministrator && checklist(`${issuer}/mcp`)}
      `,
  };
}

function checklist(resource: string): Html {
  return html`
    <details id="missing">
      <summary>Don't see your client?</summary>
      <p>Its requests never reached this server. Check:</p>
      <ol>
      <li>The address in the client is <code>${resource}</code>.</li>
      <li>Its name leads to this machine, with an IPv4 address that the client can reach. Clients in the cloud reach
        neither your own network nor a port other than 443.</li>
      ${resource.startsWith("https:") && html`
        <li>The certificate is for that name, has not expired, and comes with its full chain.</li>
      `}
      <li>The firewall, the proxy and the CDN pass <code>/mcp</code>, <code>/oauth/</code> and
        <code>/.well-known/</code>, for programs too.</li>
      <li>A client that failed once may remember that: remove the connection in it, and add it again.</li>
      </ol>
    </details>
    <p>${withCode("Test this server: `portcullis doctor`")}</p>
  `;
}

function attemptList(reports: readonly AttemptReport[], visit: Visit): Html {
  const whose = visit.visitor.isAdministrator ? "" : " in your name";
  if (reports.length === 0) {
    return html`<p class="quiet">No client has tried to connect${whose} in the last 24 hours.</p>`;
  }
  const [well, shown] = [reports.filter(isWell), reports.filter((each) => !isWell(each))];
  const names = [...new Set(well.map(({ name }) => name))];
  const more = names.length > maxNames ? `, and ${names.length - maxNames} more` : "";
  return html`${shown.map((report) => attemptArticle(report, visit))}${
    well.length > 0 && html`
      <details id="well">
        <summary>No fault: ${names.slice(0, maxNames).join(", ")}${more}</summary>
        ${well.map((report) => attemptArticle(report, visit))}
      </details>
    `
  }`;
}

/** Of the attempts that need nothing. */
const maxNames = 5;

function isWell({ diagnosis: { state, causes: [first] } }: AttemptReport): boolean {
  return state === "no_fault" && first?.remedy === "";
}

function attemptArticle(report: AttemptReport, { now, visitor }: Visit): Html {
  const { name, redirectHost, addresses, people, steps, lastAt, startedAt } = report;
  const about = [
    addresses.length > 0 && `, from ${addresses.slice(0, maxAddresses).join(", ")}`,
    redirectHost !== null && `, redirects to ${redirectHost}`,
    visitor.seesOthers && people.length > 0 && `, for ${people.join(", ")}`,
  ];
  const lines = steps.map((step, index) => {
    const after = `+${((step.time - startedAt) / 1_000).toFixed(1)} s`;
    return html`<li value="${index + 1}"><span class="quiet">${after}</span> ${stepWords(step)}</li>`;
  });
  return html`
    <article class="held">
      <h2>${name}</h2>
      <p class="quiet">${ago(lastAt, now)}${about}</p>
      ${diagnosisParts(report)}
      <details id="steps-${startedAt}"><summary>Steps</summary><ol>${lines}</ol></details>
    </article>
  `;
}

const maxAddresses = 3;

function diagnosisParts({ startedAt, diagnosis: { state, causes } }: AttemptReport): Html {
  const [first, ...others] = causes;
  if (state === "going_on") return html`<p><span class="badge">In progress</span></p>`;
  if (first === undefined) return html`<p><span class="badge warn">Stopped</span> for an unknown reason.</p>`;
  const [kind, word] = state === "no_fault" ? ["good", "No fault"] : ["warn", "Stopped"];
  return html`
    <p><span class="badge ${kind}">${word}</span> ${withCode(first.words)}</p>
    ${first.remedy !== "" && html`<p><strong>What to do:</strong> ${withCode(first.remedy)}</p>`}
    ${others.length > 0 && html`
      <details id="causes-${startedAt}">
        <summary>Less likely causes</summary>
        <ul>${others.map(({ words, remedy }) => html`<li>${withCode(words)} ${withCode(remedy)}</li>`)}</ul>
      </details>
    `}
  `;
}
