/** `connect`: formats as the clients' own documentation has them; scripts/try_clients.ts feeds them to real clients. */
import assert from "node:assert/strict";
import { clientFormats, type Connection } from "../../src/lib/client_configurations.ts";
import { heapFlag } from "../../src/lib/start_flags.ts";
import { isOnPath } from "../../src/lib/program_name.ts";
import { connectCommand, tunnelAdvice } from "../../src/cli/connect_command.ts";
import type { CommandContext } from "../../src/cli/command.ts";
import { loadConfig } from "../../src/app/config/config.ts";
import { clientWords } from "../../src/lib/program_name.ts";

const overHttp: Connection = { kind: "http", serverUrl: "https://mcp.example.com" };
const withToken: Connection = { ...overHttp, tokenVariable: "PORTCULLIS_TOKEN" };
const endpoint = "https://mcp.example.com/mcp";

function textFor(client: string, connection: Connection): string {
  const format = clientFormats.find(({ name }) => name === client) ?? assert.fail(client);
  return format.configure(connection)?.text ?? "";
}

const entryFor = (client: string, connection: Connection) =>
  JSON.parse(textFor(client, connection)).mcpServers.portcullis;

function connect(
  words: readonly string[],
  flags: Record<string, string> = {},
  env: Record<string, string> = {},
): { status: number; printed: string; said: string } {
  let [printed, said] = ["", ""];
  const context: CommandContext = {
    words,
    flags,
    loadConfig: () => loadConfig({ flags, env, readFile: () => "" }),
    findSetting: () => undefined,
    print: (text) => void (printed += text),
    say: (text) => void (said += text),
  };
  const status = connectCommand.run(context);
  assert.ok(typeof status === "number");
  return { status, printed, said };
}

Deno.test("connect: Claude Code gets a shell command; its token stays in a variable that Claude Code reads", () => {
  assert.equal(textFor("claude-code", overHttp), `claude mcp add --transport http portcullis ${endpoint}`);
  assert.equal(
    textFor("claude-code", withToken),
    `claude mcp add --transport http portcullis ${endpoint} --header 'Authorization: Bearer \${PORTCULLIS_TOKEN}'`,
  );
});

Deno.test("connect: Claude Desktop gets a connector for https, and a bridge where its file is the only way", () => {
  assert.ok(textFor("claude-desktop", overHttp).includes(`Remote MCP server URL: ${endpoint}`));
  const local = entryFor("claude-desktop", { kind: "http", serverUrl: "http://127.0.0.1:3000" });
  assert.deepEqual(local, { command: "npx", args: ["-y", "mcp-remote", "http://127.0.0.1:3000/mcp"] });
  const { args, env } = entryFor("claude-desktop", withToken);
  assert.deepEqual(args.slice(3), ["--header", "Authorization:${PORTCULLIS_TOKEN}"]);
  assert.deepEqual(env, { PORTCULLIS_TOKEN: "Bearer THE_TOKEN" });
});

Deno.test("connect: Cursor, Gemini CLI and VS Code get their JSON, each with its own names", () => {
  assert.deepEqual(entryFor("cursor", overHttp), { url: endpoint });
  assert.deepEqual(entryFor("cursor", withToken).headers, { Authorization: "Bearer ${env:PORTCULLIS_TOKEN}" });
  assert.deepEqual(entryFor("gemini", overHttp), { httpUrl: endpoint });
  assert.deepEqual(entryFor("gemini", withToken).headers, { Authorization: "Bearer $PORTCULLIS_TOKEN" });
  assert.deepEqual(JSON.parse(textFor("vscode", overHttp)), {
    servers: { portcullis: { type: "http", url: endpoint } },
  });
  const { servers } = JSON.parse(textFor("vscode", withToken));
  assert.deepEqual(servers.portcullis.headers, { Authorization: "Bearer ${env:PORTCULLIS_TOKEN}" });
});

Deno.test("connect: Codex gets TOML", () => {
  assert.equal(textFor("codex", overHttp), `[mcp_servers.portcullis]\nurl = "${endpoint}"`);
  assert.match(textFor("codex", withToken), /\nbearer_token_env_var = "PORTCULLIS_TOKEN"$/);
});

Deno.test("connect: ServiceNow gets the fields of its form, and no token in a variable", () => {
  const text = textFor("servicenow", overHttp);
  for (const path of ["/mcp", "/oauth/authorize", "/oauth/token", "/oauth/revoke"]) {
    assert.ok(text.includes(`: https://mcp.example.com${path}\n`) || text.endsWith(path), path);
  }
  assert.equal(textFor("servicenow", withToken), "");
  assert.equal(connect(["servicenow"], { "token-variable": "T", url: "https://mcp.example.com" }).status, 1);
});

Deno.test("connect --transport stdio names this program by absolute paths, and its directories", () => {
  const directories = { "data-dir": "/data dir/it's", workspace: "/ws" };
  const { status, printed } = connect(["gemini"], { transport: "stdio", ...directories });
  assert.equal(status, 0);
  const { command, args } = JSON.parse(printed).mcpServers.portcullis;
  assert.deepEqual([command, ...args].slice(0, clientWords().length), clientWords());
  assert.ok(args.includes(heapFlag), printed);
  assert.doesNotMatch(printed, /_npx/, "npx may clear its cache");
  assert.deepEqual(args.slice(-5), ["stdio", "--data-dir", "/data dir/it's", "--workspace", "/ws"]);
  const entry: Connection = { kind: "stdio", command: "/opt/portcullis", args: ["stdio", "--data-dir", "/it's here"] };
  assert.equal(
    textFor("claude-code", entry),
    "claude mcp add portcullis -- /opt/portcullis stdio --data-dir '/it'\\''s here'",
  );
  assert.equal(textFor("codex", entry).split("\n")[2], 'args = ["stdio", "--data-dir", "/it\'s here"]');
  assert.equal(JSON.parse(textFor("vscode", entry)).servers.portcullis.type, "stdio");
  for (const client of ["claude-desktop", "cursor"]) {
    assert.deepEqual(entryFor(client, entry), { command: entry.command, args: entry.args });
  }
  assert.equal(connect(["servicenow"], { transport: "stdio" }).status, 1);
  assert.equal(connect(["cursor"], { transport: "carrier pigeon" }).status, 2);
});

Deno.test("connect CLIENT prints the configuration alone on standard output, and where it goes on standard error", () => {
  const { status, printed, said } = connect(["codex"], {}, { PORT: "4000" });
  assert.equal(status, 0);
  assert.equal(printed, '[mcp_servers.portcullis]\nurl = "http://127.0.0.1:4000/mcp"\n');
  assert.match(said, /^Codex: ~\/\.codex\/config\.toml\n/);
});

Deno.test("connect says what a client may lack: a way to register, the environment of a process", () => {
  const closed = { SERVER_URL: "https://mcp.example.com", DCR_AUTH_TOKEN: "k3Jp9vQx2LmN8rTz" };
  assert.match(connect(["cursor"], {}, closed).said, /REGISTRATION is token: .*clients create/);
  assert.doesNotMatch(connect(["cursor"], { "token-variable": "TOKEN" }, closed).said, /REGISTRATION/);
  assert.doesNotMatch(connect(["cursor"]).said, /REGISTRATION/);
  assert.match(connect(["cursor"], { transport: "stdio" }).said, /OLLAMA_HOST/);
  assert.ok(!connect(["cursor"], {}, closed).printed.includes("k3Jp9vQx2LmN8rTz"));
});

Deno.test("connect without a client prints every one of them", () => {
  const { status, printed } = connect([]);
  assert.equal(status, 0);
  for (const { title } of clientFormats) assert.ok(printed.includes(`# ${title}: `), title);
});

Deno.test("connect --url takes an address with or without /mcp, and needs no setting of the server's", () => {
  const env = { SERVER_URL: "https://lacks-its-registration-token.example" };
  for (const url of ["https://mcp.example.com", "https://mcp.example.com/", endpoint]) {
    assert.deepEqual(connect(["cursor"], { url }, env).status, 0);
    assert.ok(connect(["cursor"], { url }, env).printed.includes(`"${endpoint}"`));
  }
});

Deno.test("connect refuses what it cannot print: unknown clients, port 0, unusable addresses and names", () => {
  const cases: [string[], Record<string, string>, RegExp][] = [
    [["emacs"], {}, /no client "emacs"\nhint: clients are claude-code,/],
    [["cursor", "codex"], {}, /takes one client/],
    [["cursor"], { port: "0" }, /port 0/],
    [["cursor"], { url: "http://mcp.example.com" }, /--url must be https/],
    [["cursor"], { "token-variable": "$(id)" }, /--token-variable/],
    [["cursor"], { port: "x" }, /--port/],
  ];
  for (const [words, flags, expected] of cases) {
    const { status, printed, said } = connect(words, flags);
    assert.equal(status, 2, words.join(" "));
    assert.equal(printed, "");
    assert.match(said, expected);
  }
});

Deno.test("connect: ChatGPT and claude.ai get an address and where it goes; a loopback one says what is missing", () => {
  for (const client of ["chatgpt", "claude.ai"]) {
    const local = connect([client]);
    assert.equal(local.status, 0);
    assert.match(local.printed, /^Name: Portcullis\nRemote MCP server URL: http:\/\/127\.0\.0\.1:3000\/mcp$/m);
    assert.match(
      local.said,
      /Settings > [^]*reachable from the internet[^]*is this machine alone: put a tunnel or a proxy/,
    );
    const away = connect([client], { url: "https://mcp.example.com" });
    assert.ok(away.printed.includes(endpoint) && !away.said.includes("this machine alone"));
    assert.equal(connect([client], { transport: "stdio" }).status, 1);
  }
});

Deno.test("connect: hosted clients are told which tunnels lead to a server on this machine", () => {
  for (const client of ["claude.ai", "chatgpt"]) {
    const { status, said, printed } = connect([client], {}, { PORT: "4321" });
    assert.equal(status, 0);
    assert.match(said, /It connects from its maker's network/);
    assert.match(said, /set PUBLIC_DOMAIN to the name/);
    assert.match(said, /^Set that SERVER_URL, TRUST_PROXY=1 and REGISTRATION=off/m);
    assert.match(printed, /^Name: Portcullis\nRemote MCP server URL: \S+\n$/);
  }
  assert.doesNotMatch(connect(["claude.ai"], { url: "https://mcp.example.com" }).said, /PUBLIC_DOMAIN|tunnel/);
  assert.doesNotMatch(connect(["cursor"], {}).said, /PUBLIC_DOMAIN|tunnel/);

  const withBoth = tunnelAdvice(4_321, () => true).join("\n");
  assert.match(withBoth, /^ {2}tailscale funnel --bg 4321$/m);
  assert.match(withBoth, /^ {2}cloudflared tunnel run --url http:\/\/127\.0\.0\.1:4321 portcullis$/m);
  const withOne = tunnelAdvice(4_321, (program) => program === "cloudflared").join("\n");
  assert.doesNotMatch(withOne, /tailscale/);
  assert.match(withOne, /a tunnel that is installed here/);
  const withNone = tunnelAdvice(4_321, () => false).join("\n");
  assert.match(withNone, /neither tailscale nor cloudflared is installed here/);
  assert.match(withNone, /tailscale funnel[\s\S]*cloudflared tunnel/);
});

Deno.test("connect: a program is looked for on the PATH and not started", () => {
  assert.equal(isOnPath("there-is-no-such-program"), false);
  assert.equal(isOnPath(Deno.build.os === "windows" ? "cmd" : "sh"), true);
});
