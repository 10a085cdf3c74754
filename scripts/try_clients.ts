/**
 * Has `connect CLIENT --write` write the files of real clients, and says how each client took its own:
 *   deno run --config deno.dev.json --allow-all scripts/try_clients.ts [BIN]
 * BIN is a directory with the clients' programs; without it, those of npm are installed into the cache directory, once.
 * Each client runs in a home directory of its own, with no variable of this machine's but PATH; none needs an account.
 * Part of `deno task full`, not of the gate: the clients take 2 GB.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { approve, setUpOwner } from "../tests/fixtures/owner.ts";
import { createPerson } from "../tests/fixtures/person.ts";
import { makeServerPlace, runCommand, startServer } from "../tests/fixtures/running_server.ts";

interface Trial {
  readonly title: string;
  /** The client's program; the trial is skipped where it is not installed. */
  readonly program: string;
  /** What the client said; the trial is passed when it matches. */
  readonly run: () => Promise<string>;
  readonly expected: RegExp;
}

/** As of 2026-11-26; of a next version the format may be another. */
const clients: Readonly<Record<string, string>> = {
  "@anthropic-ai/claude-code": "2.1.332",
  "@github/copilot": "1.0.102",
  "@google/gemini-cli": "0.61.0",
  "@openai/codex": "0.171.0",
  "cline": "3.0.65",
  "mcp-remote": "0.15.1",
  "opencode-ai": "1.18.33",
};

/** The programs of the clients, from npm. */
async function installClients(): Promise<string> {
  const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "portcullis-clients");
  const manifest = JSON.stringify({ private: true, dependencies: clients });
  const path = join(cache, "package.json");
  if (await Deno.readTextFile(path).catch(() => "") !== manifest) {
    await Deno.mkdir(cache, { recursive: true });
    await Deno.writeTextFile(path, manifest);
    const args = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", cache];
    const { success } = await new Deno.Command("npm", { args }).spawn().status;
    if (!success) {
      await Deno.remove(path);
      throw new Error("npm could not install the clients");
    }
  }
  return join(cache, "node_modules/.bin");
}

const binDirectory = Deno.args[0] ?? await installClients();
const home = await Deno.makeTempDir({ prefix: "portcullis-clients-" });
const project = `${home}/project`;
const clientEnvironment: Record<string, string> = {
  HOME: home,
  PATH: `${binDirectory}:${process.env["PATH"]}`,
  NO_COLOR: "1",
};

await using place = await makeServerPlace();
// Codex names itself by the address of a document on the internet where it can; the server here may have none.
await using server = await startServer(place, { env: { CLIENT_METADATA_DOCUMENTS: "off" } });
const person = createPerson(server.url);
await setUpOwner(person, server);
await Deno.mkdir(project);
// The one thing that these homes share with the person's own: what Deno has downloaded already.
await Deno.mkdir(`${home}/.cache`);
await Deno.symlink(process.env["DENO_DIR"] ?? `${process.env["HOME"]}/.cache/deno`, `${home}/.cache/deno`);
clientEnvironment["PORTCULLIS_TOKEN"] = (await runCommand([
  ...["token", "create", "--scope", "files:read files:write llm:generate", "--data-dir", place.dataDir],
])).stdout.trim();

const overHttp = ["--url", server.url];
const overStdio = ["--transport", "stdio", "--data-dir", place.dataDir, "--workspace", place.workspaceDir];
const withToken = [...overHttp, "--token-variable", "PORTCULLIS_TOKEN"];

const trials: readonly Trial[] = [
  {
    title: "Claude Code, sign-in",
    program: "claude",
    expected: /portcullis: .*Needs authentication/,
    run: () => tryClaudeCode(overHttp),
  },
  {
    title: "Claude Code, token",
    program: "claude",
    expected: /portcullis: .*Connected/,
    run: () => tryClaudeCode(withToken),
  },
  {
    title: "Claude Code, stdio",
    program: "claude",
    expected: /portcullis: .* stdio .*Connected/,
    run: () => tryClaudeCode(overStdio),
  },
  {
    title: "Codex, stdio",
    program: "codex",
    expected: /"type": "stdio"[\s\S]*"stdio"/,
    run: async () => {
      await write("codex", overStdio);
      return await shell("codex mcp get portcullis --json");
    },
  },
  {
    title: "Gemini CLI, stdio",
    program: "gemini",
    expected: /portcullis: .*\(stdio\) - Connected/,
    run: () => tryGemini(overStdio),
  },
  {
    title: "Inspector, stdio (by the file for Cursor)",
    program: "mcp-inspector",
    expected: /"name": "file_read"/,
    run: async () => {
      await write("cursor", overStdio);
      return await shell(
        `mcp-inspector --cli --config ${home}/.cursor/mcp.json --server portcullis --method tools/list`,
      );
    },
  },
  {
    title: "Codex, token",
    program: "codex",
    expected: /"bearer_token_env_var": "PORTCULLIS_TOKEN"[\s\S]*"auth_status": "bearer_token"/,
    run: async () => {
      await write("codex", withToken);
      return await shell("codex mcp list --json");
    },
  },
  { title: "Codex, sign-in", program: "codex", expected: /Successfully logged in/i, run: signInWithCodex },
  {
    title: "Gemini CLI, token",
    program: "gemini",
    expected: /portcullis: .* - Connected/,
    run: () => tryGemini(withToken),
  },
  {
    title: "Gemini CLI, sign-in",
    program: "gemini",
    expected: /portcullis: .*\(http\) - Disconnected/, // `mcp list` cannot sign in, but has read the entry
    run: () => tryGemini(overHttp),
  },
  {
    title: "OpenCode, token",
    program: "opencode",
    expected: /portcullis.*connected/,
    run: () => tryOpenCode(withToken),
  },
  {
    title: "OpenCode, stdio",
    program: "opencode",
    expected: /portcullis.*connected/,
    run: () => tryOpenCode(overStdio),
  },
  {
    title: "OpenCode, sign-in",
    program: "opencode",
    expected: /portcullis.*needs authentication/,
    run: () => tryOpenCode(overHttp),
  },
  {
    title: "Copilot CLI, sign-in",
    program: "copilot",
    expected: /portcullis \(http\)/,
    run: () => tryCopilot(overHttp),
  },
  {
    title: "Copilot CLI, stdio",
    program: "copilot",
    expected: /portcullis \(local\)/,
    run: () => tryCopilot(overStdio),
  },
  {
    title: "Cline, sign-in (it finds the entry, and removes it)",
    program: "cline",
    expected: /(?:removed|uninstalled).*portcullis|portcullis.*(?:removed|uninstalled)/i,
    run: async () => {
      await write("cline", overHttp);
      return await shell("cline mcp uninstall portcullis");
    },
  },
  {
    title: "Claude Desktop, token (by mcp-remote)",
    program: "mcp-remote",
    expected: /file_read/,
    run: tryMcpRemote,
  },
];

let failed = false;
for (const { title, program, run, expected } of trials) {
  if (!await Deno.stat(`${binDirectory}/${program}`).catch(() => null)) {
    process.stdout.write(`skip  ${title}: ${program} is not installed\n`);
    continue;
  }
  const said = await run();
  const ok = expected.test(said);
  failed ||= !ok;
  process.stdout.write(ok ? `ok    ${title}: ${line(said, expected)}\n` : `FAIL  ${title}:\n${said}\n`);
}
await Deno.remove(home, { recursive: true });
process.exitCode = failed ? 1 : 0;

async function tryClaudeCode(flags: readonly string[]): Promise<string> {
  await write("claude-code", flags);
  return await shell("claude mcp list");
}

async function tryGemini(flags: readonly string[]): Promise<string> {
  await write("gemini", flags);
  await Deno.writeTextFile(`${home}/.gemini/trustedFolders.json`, JSON.stringify({ [project]: "TRUST_FOLDER" }));
  return await shell("gemini mcp list");
}

async function tryOpenCode(flags: readonly string[]): Promise<string> {
  await write("opencode", flags);
  return await shell("opencode mcp list");
}

async function tryCopilot(flags: readonly string[]): Promise<string> {
  await write("copilot-cli", flags);
  return await shell("copilot mcp list");
}

/** `codex mcp login` prints a link and waits; the person opens it, approves, and is sent back to Codex. */
async function signInWithCodex(): Promise<string> {
  await write("codex", overHttp);
  const child = spawn("codex mcp login portcullis");
  let said = "";
  let approved = false;
  const ended = child.status;
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    said += chunk;
    const link = /^(http\S+\/oauth\/authorize\?\S+)\s/m.exec(said)?.[1];
    if (link === undefined || approved) continue;
    approved = true;
    await (await fetch(await approve(person, new URL(link)))).body?.cancel();
  }
  await ended;
  return said;
}

/** Starts the process that the printed file names, as Claude Desktop does, and lists the tools through it. */
async function tryMcpRemote(): Promise<string> {
  const { mcpServers: { portcullis: entry } } = JSON.parse(await configurationFor("claude-desktop", withToken));
  const client = new Client({ name: "desktop", version: "1" });
  await client.connect(
    new StdioClientTransport({
      command: "mcp-remote", // what `npx -y mcp-remote` runs, without fetching it again
      args: entry.args.slice(2),
      env: {
        ...clientEnvironment,
        PORTCULLIS_TOKEN: String(entry.env.PORTCULLIS_TOKEN).replace(
          "THE_TOKEN",
          clientEnvironment["PORTCULLIS_TOKEN"] ?? "",
        ),
      },
      stderr: "ignore",
    }),
  );
  const { tools } = await client.listTools();
  await client.close();
  return tools.map((tool: { readonly name: string }) => tool.name).join(" ");
}

async function configurationFor(client: string, flags: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(["connect", client, ...flags]);
  if (code !== 0) throw new Error(stderr);
  return stdout.trim();
}

/** Has the client's own file changed, as its user does. */
async function write(client: string, flags: readonly string[]): Promise<void> {
  const { code, stderr } = await runCommand(["connect", client, "--write", "--yes", ...flags], { env: { HOME: home } });
  if (code !== 0) throw new Error(stderr);
}

function spawn(command: string): Deno.ChildProcess {
  return new Deno.Command("timeout", {
    args: ["90", "sh", "-c", `${command} 2>&1`],
    cwd: project,
    env: clientEnvironment,
    clearEnv: true,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
}

async function shell(command: string): Promise<string> {
  return new TextDecoder().decode((await spawn(command).output()).stdout);
}

function line(text: string, expected: RegExp): string {
  return text.split("\n").find((each) => expected.test(each))?.trim() ?? "as expected";
}
