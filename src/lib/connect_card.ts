/** The connect card of the pages: what to do in each client, its install links, and whether one is connected. */
import { waitingWords } from "./program_name.ts";
import { clientFormats } from "./client_configurations.ts";
import { type Html, html } from "./page.ts";
import { equalInConstantTime, type SecretBox } from "./secrets.ts";

/** Those with a tab of their own, in this order; what else speaks MCP is told the address. */
const shownClients: readonly string[] = [
  ...["claude-code", "cursor", "vscode", "claude-desktop", "claude.ai", "chatgpt", "codex", "gemini"],
];

/** Addresses that a client opens to add a server, by their makers' documentation. */
function installLinksOf(client: string, url: string) {
  const name = "portcullis";
  const encoded = (entry: object): string => encodeURIComponent(btoa(JSON.stringify(entry)));
  switch (client) {
    case "cursor":
      return [{
        words: "Add to Cursor",
        href: `cursor://anysphere.cursor-deeplink/mcp/install?name=${name}&config=${encoded({ url })}`,
      }];
    case "vscode": {
      const query = encodeURIComponent(JSON.stringify({ name, type: "http", url }));
      return [
        { words: "Install in VS Code", href: `vscode:mcp/install?${query}` },
        { words: "VS Code Insiders", href: `vscode-insiders:mcp/install?${query}` },
        { words: "VSCodium", href: `vscodium:mcp/install?${query}` },
      ];
    }
    case "other":
      return [
        { words: "Add to LM Studio", href: `lmstudio://add_mcp?name=${name}&config=${encoded({ url })}` },
        {
          words: "Add to Kiro",
          href: `https://kiro.dev/launch/mcp/add?name=${name}&config=${encodeURIComponent(JSON.stringify({ url }))}`,
        },
      ];
    default:
      return [];
  }
}

/** The card for the address of the MCP endpoint. Works without script; {@link connectScript} adds the Copy buttons. */
export function connectCard(resource: string): Html {
  const connection = { kind: "http", serverUrl: resource.replace(/\/mcp$/, "") } as const;
  const known = shownClients.flatMap((name) => {
    const format = clientFormats.find((each) => each.name === name);
    const configuration = format?.configure(connection) ?? null;
    return format === undefined || configuration === null ? [] : [{ name, title: format.title, ...configuration }];
  });
  const other = {
    name: "other",
    title: "Other",
    place: "The server's address, by Streamable HTTP",
    text: resource,
    notes: [],
  };
  return html`
    <fieldset class="clients">
      <legend>Connect your AI client</legend>
      ${[...known, other].map(({ name, title, place, text, notes }, index) =>
        html`
          <label><input type="radio" name="client" value="${name}" autocomplete="off" ${index === 0 &&
            html`checked`}>${title}</label>
          <div class="panel">
            ${installLinksOf(name, resource).map(({ words, href }) =>
              html`
                <a class="button" href="${href}">${words}</a>
              `
            )}
            <p class="hint">${place.replace(/^run in a shell$/, "Run")}:</p>
            <pre data-copy>${text}</pre>
            ${notes.map((note) => html`<p class="hint">${inCode(note)}</p>`)}
          </div>
        `
      )}
    </fieldset>
  `;
}

/** A text in which what stands between backticks is code. */
export function inCode(text: string): Html {
  return html`${text.split("`").map((part, index) => index % 2 === 0 ? part : html`<code>${part}</code>`)}`;
}

/** The line that says which client is connected; `null` while there is none. `address` is asked again and again. */
export function connectionLine(name: string | null, address: string): Html {
  return html`<p role="status" data-connection="${address}">${connectionWords(name)}</p>`;
}

function connectionWords(name: string | null): Html {
  return name === null ? html`${waitingWords}` : html`<strong>${name}</strong> is connected.`;
}

/** For pages with the card. An element that names an address by `data-connection` shows in time which client is connected. */
export const connectScript = `
"use strict";
(() => {
  const later = setTimeout;
  for (const text of document.querySelectorAll("pre[data-copy]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain small";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const done = await navigator.clipboard?.writeText(text.textContent).then(() => true, () => false);
      if (!done) getSelection()?.selectAllChildren(text);
      button.textContent = done ? "Copied" : "Selected: copy it now";
      later(() => { button.textContent = "Copy"; }, 3000);
    });
    text.after(button);
  }
  const state = document.querySelector("[data-connection]");
  const look = async (looksLeft) => {
    const answer = await fetch(state.dataset.connection).then((found) => found.ok ? found.json() : null, () => null);
    if (answer?.isConnected) state.innerHTML = answer.connection;
    else if (looksLeft > 0) later(look, 4000, looksLeft - 1);
  };
  if (state) later(look, 4000, 450);
})();
`;

/**
 * Where a page asks whether a client of the user is connected. Its mark lets the page go on asking when its session has
 * ended, which a decision about a client ends on plain http; it tells the name of a client, no more.
 */
export function connectionPath(base: string, secrets: Pick<SecretBox, "authenticate">, userId: string): string {
  return `${base}/setup?${new URLSearchParams({ connection: userId, mark: markOf(secrets, userId) })}`;
}

/** The user whose page asks; `null` where the mark is wrong. */
export function userAsking(secrets: Pick<SecretBox, "authenticate">, query: URLSearchParams): string | null {
  const userId = query.get("connection") ?? "";
  return equalInConstantTime(query.get("mark") ?? "", markOf(secrets, userId)) ? userId : null;
}

/** The answer to that. */
export function connectionAnswer(name: string | null): Response {
  const body = { isConnected: name !== null, connection: connectionWords(name).markup };
  return Response.json(body, { headers: { "cache-control": "no-store" } });
}

function markOf(secrets: Pick<SecretBox, "authenticate">, userId: string): string {
  return secrets.authenticate("connection", userId);
}
