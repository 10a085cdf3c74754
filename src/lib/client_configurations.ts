/** The configuration of each known client, in its own format. Pure. */
import { isLoopbackHost } from "./settings.ts";
import { commandLine } from "./program_name.ts";

/** How a client reaches the server. */
export type Connection =
  /** Over HTTP; with a token from an environment variable instead of the sign-in in the browser, if one is named. */
  | { readonly kind: "http"; readonly serverUrl: string; readonly tokenVariable?: string }
  /** As a child process. */
  | { readonly kind: "stdio"; readonly command: string; readonly args: readonly string[] };

export interface ClientConfiguration {
  /** Where it goes. */
  readonly place: string;
  /** Exactly what goes there. */
  readonly text: string;
  readonly notes: readonly string[];
}

export interface ClientFormat {
  readonly name: string;
  readonly title: string;
  /** `null` when it cannot connect in that way. */
  readonly configure: (connection: Connection) => ClientConfiguration | null;
}

const serverName = "portcullis";

export const clientFormats: readonly ClientFormat[] = [
  { name: "claude-code", title: "Claude Code", configure: configureClaudeCode },
  { name: "claude-desktop", title: "Claude Desktop", configure: configureClaudeDesktop },
  {
    name: "claude.ai",
    title: "Claude on the web",
    configure: (connection) => configureHosted(connection, "Settings > Connectors > Add custom connector"),
  },
  {
    name: "chatgpt",
    title: "ChatGPT",
    configure: (connection) =>
      configureHosted(connection, "Settings > Apps & Connectors > Advanced settings: developer mode; then Create"),
  },
  { name: "cursor", title: "Cursor", configure: configureCursor },
  { name: "vscode", title: "VS Code", configure: configureVsCode },
  { name: "codex", title: "Codex", configure: configureCodex },
  { name: "gemini", title: "Gemini CLI", configure: configureGemini },
  { name: "servicenow", title: "ServiceNow AI Agent Studio", configure: configureServiceNow },
];

function configureClaudeCode(connection: Connection): ClientConfiguration {
  const place = "run in a shell";
  if (connection.kind === "stdio") {
    const command = [connection.command, ...connection.args].map(shellWord).join(" ");
    return { place, text: `claude mcp add ${serverName} -- ${command}`, notes: [] };
  }
  const { tokenVariable } = connection;
  const add = `claude mcp add --transport http ${serverName} ${endpointOf(connection)}`;
  if (tokenVariable === undefined) return { place, text: add, notes: ["Then `/mcp` in Claude Code signs in."] };
  // Single quotes: Claude Code replaces the variable itself at each start, so that no token lies in its settings.
  return { place, text: `${add} --header 'Authorization: Bearer \${${tokenVariable}}'`, notes: [] };
}

/** Its file has only local servers; a server that the internet can reach is added in its settings. */
function configureClaudeDesktop(connection: Connection): ClientConfiguration | null {
  const place = "claude_desktop_config.json (Settings > Developer > Edit Config)";
  if (connection.kind === "stdio") return { place, text: serversJson(processEntry(connection)), notes: [] };
  const endpoint = endpointOf(connection);
  const { tokenVariable } = connection;
  if (endpoint.startsWith("https:") && tokenVariable === undefined) {
    return configureHosted(connection, "Settings > Connectors > Add custom connector");
  }
  // mcp-remote takes a blank within an argument badly on Windows, so the header's value comes from its variable whole.
  const header = tokenVariable === undefined ? [] : ["--header", `Authorization:\${${tokenVariable}}`];
  const entry = {
    command: "npx",
    args: ["-y", "mcp-remote", endpoint, ...header],
    ...(tokenVariable === undefined ? {} : { env: { [tokenVariable]: "Bearer THE_TOKEN" } }),
  };
  const notes = [
    `mcp-remote (npm) is the bridge, since this file has no HTTP servers; \`${
      commandLine("connect claude-desktop --transport stdio")
    }\` needs no bridge.`,
  ];
  if (tokenVariable !== undefined) notes.push("Replace THE_TOKEN; Claude Desktop has no other place for it.");
  return { place, text: serversJson(entry), notes };
}

/** Added in its settings; it connects from its maker's network and signs in by a browser. */
function configureHosted(connection: Connection, place: string): ClientConfiguration | null {
  if (connection.kind === "stdio" || connection.tokenVariable !== undefined) return null;
  const { serverUrl } = connection;
  const notes = ["It connects from its maker's network, so the address has to be reachable from the internet."];
  if (isLoopbackHost(new URL(serverUrl).hostname)) {
    notes.push(
      `${serverUrl} is this machine alone: put a tunnel or a proxy with https in front, and set SERVER_URL to its address.`,
    );
  }
  return { place, text: `Name: Portcullis\nRemote MCP server URL: ${endpointOf(connection)}`, notes };
}

function configureCursor(connection: Connection): ClientConfiguration {
  const place = "~/.cursor/mcp.json, or .cursor/mcp.json in a project";
  const entry = connection.kind === "stdio" ? processEntry(connection) : {
    url: endpointOf(connection),
    ...headers(connection, (variable) => `\${env:${variable}}`),
  };
  return { place, text: serversJson(entry), notes: [] };
}

function configureVsCode(connection: Connection): ClientConfiguration {
  const place = ".vscode/mcp.json, or the file that `MCP: Open User Configuration` opens";
  if (connection.kind === "stdio") {
    return {
      place,
      text: json({ servers: { [serverName]: { type: "stdio", ...processEntry(connection) } } }),
      notes: [],
    };
  }
  const entry = {
    type: "http",
    url: endpointOf(connection),
    ...headers(connection, () => "${input:portcullis-token}"),
  };
  const inputs = connection.tokenVariable === undefined ? {} : {
    inputs: [{
      id: "portcullis-token",
      type: "promptString",
      description: "Access token for Portcullis",
      password: true,
    }],
  };
  return { place, text: json({ servers: { [serverName]: entry }, ...inputs }), notes: [] };
}

function configureCodex(connection: Connection): ClientConfiguration {
  const place = "~/.codex/config.toml";
  const table = `[mcp_servers.${serverName}]`;
  // TOML basic strings escape as JSON does.
  if (connection.kind === "stdio") {
    const { command, args } = connection;
    return {
      place,
      text: `${table}\ncommand = ${JSON.stringify(command)}\nargs = [${
        args.map((arg) => JSON.stringify(arg)).join(", ")
      }]`,
      notes: [],
    };
  }
  const url = `${table}\nurl = ${JSON.stringify(endpointOf(connection))}`;
  return connection.tokenVariable === undefined
    ? { place, text: url, notes: [`Then \`codex mcp login ${serverName}\` signs in.`] }
    : { place, text: `${url}\nbearer_token_env_var = ${JSON.stringify(connection.tokenVariable)}`, notes: [] };
}

function configureGemini(connection: Connection): ClientConfiguration {
  const place = "~/.gemini/settings.json, or .gemini/settings.json in a project";
  if (connection.kind === "stdio") return { place, text: serversJson(processEntry(connection)), notes: [] };
  const entry = { httpUrl: endpointOf(connection), ...headers(connection, (variable) => `$${variable}`) };
  const notes = connection.tokenVariable === undefined ? [`Then \`/mcp auth ${serverName}\` signs in.`] : [];
  return { place, text: serversJson(entry), notes };
}

function configureServiceNow(connection: Connection): ClientConfiguration | null {
  if (connection.kind === "stdio" || connection.tokenVariable !== undefined) return null;
  const { serverUrl } = connection;
  const notes = [
    "The instance has to reach the address: a public https SERVER_URL.",
    "It registers itself, with the registration token unless REGISTRATION is open; docs/servicenow.md has the other way.",
  ];
  return {
    place: "All > AI Agent Studio > Settings > Manage MCP Servers > New",
    text: [
      "Name: Portcullis",
      `MCP server URL: ${endpointOf(connection)}`,
      "Authentication type: OAuth 2.1",
      "Grant type: Authorization Code",
      "Token authentication method: Client Secret Basic",
      "Auth scopes: files:read,files:write,llm:generate",
      "Authentication token for client registration, header: Authorization",
      "Authentication token for client registration, value: Bearer (the value of DCR_AUTH_TOKEN)",
      `Authorization URL: ${serverUrl}/oauth/authorize`,
      `Token URL: ${serverUrl}/oauth/token`,
      `Token revocation URL: ${serverUrl}/oauth/revoke`,
    ].join("\n"),
    notes,
  };
}

function endpointOf({ serverUrl }: { readonly serverUrl: string }): string {
  return `${serverUrl}/mcp`;
}

function processEntry({ command, args }: { readonly command: string; readonly args: readonly string[] }): object {
  return { command, args };
}

function headers(
  { tokenVariable }: { readonly tokenVariable?: string },
  reference: (variable: string) => string,
): { readonly headers?: Readonly<Record<string, string>> } {
  return tokenVariable === undefined ? {} : { headers: { Authorization: `Bearer ${reference(tokenVariable)}` } };
}

function serversJson(entry: object): string {
  return json({ mcpServers: { [serverName]: entry } });
}

function json(value: object): string {
  return JSON.stringify(value, null, 2);
}

/** A word that a POSIX shell takes as it is. */
function shellWord(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
