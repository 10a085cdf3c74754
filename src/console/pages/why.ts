/** Troubleshooting: each client's attempt with its steps and a diagnosis. */
import { type AttemptReport, stepWords } from "../connections/report.ts";
import { type Html, html } from "../../lib/page.ts";
import { ago, type ConsoleSources, type Section, type Visit, withCode } from "./section.ts";

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
