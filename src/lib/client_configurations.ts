/** The configuration of each known client, in its own format. Pure. */
import { isLoopbackHost } from "./settings.ts";
import { commandLine, shellWord } from "./program_name.ts";

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
  /** What is printed; `null` when it cannot connect in that way. */
  readonly configure: (connection: Connection) => ClientConfiguration | null;
  /** The configuration file that `connect CLIENT --write` changes, where the client has one. */
  readonly file?: ClientFile;
}

/** A client's own configuration file. */
export interface ClientFile {
  /**
   * Where it can be; the first that is there is meant, else the first. `~` is the home directory, `CONFIG` where the
   * platform keeps applications' settings, `XDG` the same but for macOS. A variable is written as a shell takes it.
   */
  readonly places: readonly string[];
  /** The keys that lead to the entry, the last of which is the server's name. A file that ends in `.toml` is TOML. */
  readonly keys: readonly string[];
  readonly entry: (connection: Connection) => Readonly<Record<string, unknown>>;
  /** What the user does next. */
  readonly next: (connection: Connection) => string;
}

const serverName = "portcullis";
/** What stands for a token where a client's file cannot name a variable. */
const tokenPlace = "THE_TOKEN";

/** A client whose entry is an object in a file. */
interface FileClient {
  readonly name: string;
  readonly title: string;
  /** Where the entry goes, in words; else the first of `places`. */
  readonly where?: string;
  readonly places: readonly string[];
  /** The keys above the server's name; else `mcpServers`. */
  readonly keys?: readonly string[];
  /** Its entry over HTTP, without headers; else `url`. */
  readonly http?: (url: string) => Readonly<Record<string, unknown>>;
  /** Its entry for a child process; else `command` and `args`. */
  readonly process?: (command: string, args: readonly string[]) => Readonly<Record<string, unknown>>;
  /** How it names an environment variable in a header. */
  readonly reference?: (variable: string) => string;
  /** The member that takes the token, where that is not a header. */
  readonly token?: (variable: string) => Readonly<Record<string, unknown>>;
  readonly next?: string;
}

const environment = (variable: string): string => `\${env:${variable}}`;

const claudeCode = fileClient({
  name: "claude-code",
  title: "Claude Code",
  places: ["${CLAUDE_CONFIG_DIR:-~}/.claude.json"],
  http: (url) => ({ type: "http", url }),
  process: (command, args) => ({ type: "stdio", command, args }),
  reference: (variable) => `\${${variable}}`,
  next: "Then type `/mcp` in Claude Code.",
});
const claudeDesktop = fileClient({
  name: "claude-desktop",
  title: "Claude Desktop",
  places: ["CONFIG/Claude/claude_desktop_config.json"],
  http: (url) => ({ command: "npx", args: ["-y", "mcp-remote", url] }),
  // mcp-remote takes a blank within an argument badly on Windows, so the header's value comes from its variable whole.
  token: (variable) => ({ env: { [variable]: `Bearer ${tokenPlace}` } }),
});

/** Every client that `connect` knows. The formats are those of the clients' documentation. */
export const clientFormats: readonly ClientFormat[] = [
  { ...claudeCode, configure: (connection) => printClaudeCode(connection) },
  { ...claudeDesktop, configure: (connection) => printClaudeDesktop(connection) },
  {
    name: "claude.ai",
    title: "claude.ai",
    configure: (connection) => configureHosted(connection, "Settings > Connectors > Add custom connector"),
  },
  {
    name: "chatgpt",
    title: "ChatGPT",
    configure: (connection) =>
      configureHosted(connection, "Settings > Apps & Connectors > Advanced settings: developer mode; then Create"),
  },
  fileClient({
    name: "cursor",
    title: "Cursor",
    where: "~/.cursor/mcp.json, or .cursor/mcp.json in a project",
    places: ["~/.cursor/mcp.json"],
    reference: environment,
  }),
  fileClient({
    name: "vscode",
    title: "VS Code",
    where: ".vscode/mcp.json, or the file that `MCP: Open User Configuration` opens",
    places: ["CONFIG/Code/User/mcp.json"],
    keys: ["servers"],
    http: (url) => ({ type: "http", url }),
    process: (command, args) => ({ type: "stdio", command, args }),
    reference: environment,
    next: "Then `MCP: List Servers` in VS Code starts it.",
  }),
  fileClient({
    name: "codex",
    title: "Codex",
    where: "~/.codex/config.toml",
    places: ["${CODEX_HOME:-~/.codex}/config.toml"],
    keys: ["mcp_servers"],
    token: (variable) => ({ bearer_token_env_var: variable }),
    next: `Then \`codex mcp login ${serverName}\` signs in.`,
  }),
  fileClient({
    name: "gemini",
    title: "Gemini CLI",
    where: "~/.gemini/settings.json, or .gemini/settings.json in a project",
    places: ["~/.gemini/settings.json"],
    http: (url) => ({ httpUrl: url }),
    reference: (variable) => `$${variable}`,
    next: `Then \`/mcp auth ${serverName}\` signs in.`,
  }),
  fileClient({
    name: "opencode",
    title: "OpenCode",
    where: "~/.config/opencode/opencode.json, or opencode.json in a project",
    places: [
      "${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.json",
      "${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.jsonc",
    ],
    keys: ["mcp", "servers"], // as V2 has it; 1.18 takes it too
    http: (url) => ({ type: "remote", url }),
    process: (command, args) => ({ type: "local", command: [command, ...args] }),
    reference: (variable) => `{env:${variable}}`,
    next: `Then \`opencode mcp auth ${serverName}\` signs in.`,
  }),
  fileClient({
    name: "zed",
    title: "Zed",
    where: "the file that `zed: open settings file` opens",
    places: ["XDG/zed/settings.json"],
    keys: ["context_servers"],
  }),
  fileClient({
    name: "windsurf",
    title: "Windsurf",
    places: ["~/.codeium/windsurf/mcp_config.json"],
    http: (url) => ({ serverUrl: url }),
    reference: environment,
  }),
  fileClient({
    name: "cline",
    title: "Cline",
    where: "~/.cline/data/settings/cline_mcp_settings.json, or MCP Servers > Configure MCP Servers in the extension",
    places: [
      "~/.cline/data/settings/cline_mcp_settings.json",
      "CONFIG/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    ],
    http: (url) => ({ type: "streamableHttp", url }),
  }),
  fileClient({
    name: "lm-studio",
    title: "LM Studio",
    where: "~/.lmstudio/mcp.json (Program > Install > Edit mcp.json)",
    places: ["~/.lmstudio/mcp.json"],
  }),
  fileClient({
    name: "copilot-cli",
    title: "Copilot CLI",
    where: "~/.copilot/mcp-config.json",
    places: ["${COPILOT_HOME:-~/.copilot}/mcp-config.json"],
    http: (url) => ({ type: "http", url, tools: ["*"] }),
    process: (command, args) => ({ type: "local", command, args, tools: ["*"] }),
    reference: (variable) => `\${${variable}}`,
  }),
  { name: "copilot-studio", title: "Copilot Studio", configure: configureCopilotStudio },
  { name: "servicenow", title: "ServiceNow AI Agent Studio", configure: configureServiceNow },
];

function fileClient(client: FileClient) {
  const { name, title, where, places, keys = ["mcpServers"] } = client;
  const file: ClientFile = {
    places,
    keys: [...keys, serverName],
    entry: (connection: Connection) => entryOf(client, connection),
    next: (connection) => notesOf(client, connection)[0] ?? `Restart ${title}.`,
  };
  const configure = (connection: Connection): ClientConfiguration => {
    const entry = file.entry(connection);
    const isToml = places[0]?.endsWith(".toml");
    return {
      place: where ?? places[0] ?? "",
      text: isToml ? tomlTable(file.keys, entry) : JSON.stringify(nested(file.keys, entry), null, 2),
      notes: notesOf(client, connection),
    };
  };
  return { name, title, configure, file };
}

function entryOf(client: FileClient, connection: Connection): Readonly<Record<string, unknown>> {
  if (connection.kind === "stdio") {
    const { command, args } = connection;
    return client.process?.(command, args) ?? { command, args };
  }
  const { tokenVariable } = connection;
  const url = endpointOf(connection);
  const entry = client.http?.(url) ?? { url };
  if (tokenVariable === undefined) return entry;
  if (client.token !== undefined) {
    // the bridge takes its header as an argument
    const args = Array.isArray(entry["args"])
      ? { args: [...entry["args"], "--header", `Authorization:\${${tokenVariable}}`] }
      : {};
    return { ...entry, ...args, ...client.token(tokenVariable) };
  }
  return { ...entry, headers: { Authorization: `Bearer ${client.reference?.(tokenVariable) ?? tokenPlace}` } };
}

function notesOf({ title, next, reference, token }: FileClient, connection: Connection): string[] {
  if (connection.kind === "stdio") return [];
  if (connection.tokenVariable === undefined) return next === undefined ? [] : [next];
  return reference === undefined && token === undefined
    ? [`Replace ${tokenPlace}; ${title} has no other place for it.`]
    : [];
}

/** The object that has this value below these keys. */
export function nested(keys: readonly string[], value: object): object {
  return keys.reduceRight((inner, key) => ({ [key]: inner }), value);
}

/** A table of TOML, without a line end. Its strings and lists are written as in JSON. */
export function tomlTable(keys: readonly string[], entry: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries(entry).map(([key, value]) =>
    `${key} = ${
      Array.isArray(value) ? `[${value.map((each) => JSON.stringify(each)).join(", ")}]` : JSON.stringify(value)
    }`
  );
  return [`[${keys.join(".")}]`, ...lines].join("\n");
}

/** A command, which writes the file by itself. */
function printClaudeCode(connection: Connection): ClientConfiguration {
  const place = "run in a shell";
  if (connection.kind === "stdio") {
    const command = [connection.command, ...connection.args].map(shellWord).join(" ");
    return { place, text: `claude mcp add ${serverName} -- ${command}`, notes: [] };
  }
  const { tokenVariable } = connection;
  const add = `claude mcp add --transport http ${serverName} ${endpointOf(connection)}`;
  if (tokenVariable === undefined) return { place, text: add, notes: [claudeCode.file.next(connection)] };
  // Single quotes: Claude Code replaces the variable itself at each start, so that no token lies in its settings.
  return { place, text: `${add} --header 'Authorization: Bearer \${${tokenVariable}}'`, notes: [] };
}

/** Its file has only local servers; a server that the internet can reach is added in its settings. */
function printClaudeDesktop(connection: Connection): ClientConfiguration | null {
  const configuration = {
    ...claudeDesktop.configure(connection),
    place: "claude_desktop_config.json (Settings > Developer > Edit Config)",
  };
  if (connection.kind === "stdio") return configuration;
  if (endpointOf(connection).startsWith("https:") && connection.tokenVariable === undefined) {
    return configureHosted(connection, "Settings > Connectors > Add custom connector");
  }
  const notes = [
    `mcp-remote (npm) is the bridge, since this file has no HTTP servers; \`${
      commandLine("connect claude-desktop --transport stdio")
    }\` needs no bridge.`,
  ];
  if (connection.tokenVariable !== undefined) {
    notes.push(`Replace ${tokenPlace}; Claude Desktop has no other place for it.`);
  }
  return { ...configuration, notes };
}

/** Added in its settings; it connects from its maker's network and signs in by a browser. */
function configureHosted(
  connection: Connection,
  place: string,
  linesOf = (endpoint: string) => ["Name: Portcullis", `Remote MCP server URL: ${endpoint}`],
): ClientConfiguration | null {
  if (connection.kind === "stdio" || connection.tokenVariable !== undefined) return null;
  const { serverUrl } = connection;
  const notes = ["It connects from its maker's network, so the address has to be reachable from the internet."];
  if (isLoopbackHost(new URL(serverUrl).hostname)) {
    notes.push(
      `${serverUrl} is this machine alone: put a tunnel or a proxy with https in front, and set SERVER_URL to its address.`,
    );
  }
  return { place, text: linesOf(endpointOf(connection)).join("\n"), notes };
}

/** It connects from Microsoft's network and registers by itself. */
function configureCopilotStudio(connection: Connection): ClientConfiguration | null {
  return configureHosted(connection, "Tools > Add a tool > New tool > Model Context Protocol", (endpoint) => [
    "Server name: Portcullis",
    "Server description: files, a local model and ServiceNow",
    `Server URL: ${endpoint}`,
    "Authentication: OAuth 2.0, Dynamic discovery",
  ]);
}

function configureServiceNow(connection: Connection): ClientConfiguration | null {
  const place = "All > AI Agent Studio > Settings > Manage MCP Servers > New";
  const configuration = configureHosted(connection, place, (endpoint) => [
    "Name: Portcullis",
    `MCP server URL: ${endpoint}`,
    "Authentication type: OAuth 2.1",
    "Grant type: Authorization Code",
    "Token authentication method: Client Secret Basic",
    "Auth scopes: files:read,files:write,llm:generate",
    "Authentication token for client registration, header: Authorization",
    "Authentication token for client registration, value: Bearer (the value of DCR_AUTH_TOKEN)",
    `Authorization URL: ${endpoint.replace(/mcp$/, "oauth/authorize")}`,
    `Token URL: ${endpoint.replace(/mcp$/, "oauth/token")}`,
    `Token revocation URL: ${endpoint.replace(/mcp$/, "oauth/revoke")}`,
  ]);
  const notes = [
    "The instance has to reach the address: a public https SERVER_URL.",
    "It registers itself, with the registration token unless REGISTRATION is open; docs/servicenow.md has the other way.",
  ];
  return configuration && { ...configuration, notes };
}

function endpointOf({ serverUrl }: { readonly serverUrl: string }): string {
  return `${serverUrl}/mcp`;
}
