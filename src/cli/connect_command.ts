/** `connect`: prints the configuration with which a client reaches this server. */
import { fileURLToPath } from "node:url";
import { nodeProcess } from "../lib/program.ts";
import { heapFlag, libraryFlag } from "../lib/start_flags.ts";
import { clientWords, commandLine, isOnPath, npmPackageName } from "../lib/program_name.ts";
import { type Config, describeProblems, serverUrlFor } from "../app/mod.ts";
import { isLoopbackHost, parseServerUrl } from "../lib/settings.ts";
import { didYouMean } from "../lib/suggestible.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { clientFormats } from "../lib/client_configurations.ts";
import type { ClientConfiguration, ClientFormat, Connection } from "../lib/client_configurations.ts";
import { type CommandContext, type CommandWork, endWith, type ExitStatus } from "./command.ts";

// The command line that starts this program again, for a client's configuration.

/** From source; a compiled program carries its permissions. */
const sourceFlags = [
  heapFlag,
  "--no-prompt",
  "--allow-net",
  "--allow-env",
  "--allow-read",
  "--allow-write",
  "--allow-sys",
  libraryFlag,
];

/** The command and its first arguments, for a client that starts it from another directory. */
function thisProgram(): { readonly command: string; readonly args: readonly string[] } {
  const [command = "", ...args] = clientWords();
  if (Deno.build.standalone || args.at(-1) === npmPackageName) return { command, args };
  return { command, args: [...args, "run", ...sourceFlags, fileURLToPath(Deno.mainModule)] };
}

/** They connect from their makers' networks. */
const hostedClients = ["claude.ai", "chatgpt"];
const clientNames = clientFormats.map(({ name }) => name);

/** With a client's name, standard output is the configuration alone, to be redirected to a file. */
export const connectCommand: CommandWork = {
  usage: [
    "connect [CLIENT] [--url URL] [--token-variable NAME]",
    "connect [CLIENT] --transport stdio",
    "connect CLIENT --write [--yes]",
    "connect CLIENT --remove [--yes]",
  ],
  remarks: [`CLIENT is one of: ${clientNames.join(", ")}`],
  flags: {
    transport: { value: "KIND", help: "http (the default), or stdio: the client starts the program itself" },
    url: { value: "URL", help: "the server's address, where it is not that of the settings" },
    "token-variable": {
      value: "NAME",
      help: "environment variable that holds an access token, for a client without a browser",
    },
  },
  switches: {
    write: "add it to the client's own configuration file: shows the change and asks first",
    remove: "remove it from that file again",
    yes: "with --write and --remove: do not ask",
  },
  run: connect,
};

/** `lm studio`, `Gemini-CLI`: as people write names. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "").replace(/cli$/, "");
}

function connect(context: CommandContext): ExitStatus | Promise<ExitStatus> {
  const { words, flags, print, say } = context;
  const [name, ...more] = words;
  const client = name === undefined
    ? undefined
    : clientFormats.find((each) => plainName(each.name) === plainName(name));
  if (more.length > 0 || (name !== undefined && client === undefined)) {
    const problem = more.length > 0
      ? "connect takes one client"
      : `there is no client ${JSON.stringify(name)}${didYouMean(name ?? "", clientNames)}`;
    return endWith(say, `error: ${problem}\nhint: clients are ${clientNames.join(", ")}\n`, 2);
  }
  if (flags["write"] !== undefined || flags["remove"] !== undefined) {
    return client === undefined
      ? endWith(say, "error: name the client whose file is to change\nhint: `connect cursor --write`\n", 2)
      : changeFile(context, client);
  }
  const reached = reach(context);
  if (!reached.ok) return endWith(say, reached.error, 2);
  const { connection, notes } = reached.value;
  if (client === undefined) {
    print(clientFormats.flatMap((each) => section(each, each.configure(connection), notes)).join("\n"));
    return 0;
  }
  const configuration = client.configure(connection);
  if (configuration === null) {
    return endWith(
      say,
      `error: ${client.title} cannot connect in that way\n` +
        "hint: it connects by the address and signs in with a browser: leave the flags out\n",
    );
  }
  const local = connection.kind === "http" && hostedClients.includes(client.name)
    ? URL.parse(connection.serverUrl)
    : null;
  const advice = local !== null && isLoopbackHost(local.hostname)
    ? tunnelAdvice(Number(local.port || 80), isOnPath)
    : [];
  say(`${[`${client.title}: ${configuration.place}`, ...configuration.notes, ...notes, ...advice].join("\n")}\n\n`);
  print(`${configuration.text}\n`);
  return 0;
}

async function changeFile(context: CommandContext, { title, name, file }: ClientFormat): Promise<ExitStatus> {
  const { flags, say } = context;
  if (flags["write"] !== undefined && flags["remove"] !== undefined) {
    return endWith(say, "error: --write and --remove exclude each other\n", 2);
  }
  if (file === undefined) {
    const hint = `\`${commandLine(`connect ${name}`)}\` prints what to enter there`;
    return endWith(say, `error: ${title} has no configuration file; it is set up in its own settings\nhint: ${hint}\n`);
  }
  const reached = flags["write"] === undefined ? null : reach(context);
  if (reached !== null && !reached.ok) return endWith(say, reached.error, 2);
  const { changeClientFile } = await import("./client_file.ts");
  for (const note of reached?.value.notes ?? []) say(`${note}\n`);
  return await changeClientFile(
    {
      title,
      file,
      entry: reached === null ? null : file.entry(reached.value.connection),
      isAgreed: flags["yes"] !== undefined,
      next: reached === null ? `Restart ${title}.` : file.next(reached.value.connection),
    },
    {
      os: Deno.build.os,
      env: nodeProcess().env,
      ask: Deno.stdin.isTerminal() ? (question) => ask(question, say) : null,
    },
    say,
  );
}

const maxAnswerBytes = 64;

async function ask(question: string, say: CommandContext["say"]): Promise<boolean> {
  say(question);
  const answer = new Uint8Array(maxAnswerBytes);
  const length = await Deno.stdin.read(answer) ?? 0;
  return /^\s*y(es)?\s*$/i.test(new TextDecoder().decode(answer.subarray(0, length)));
}

function section({ title }: ClientFormat, configuration: ClientConfiguration | null, moreNotes: readonly string[]) {
  if (configuration === null) return [];
  const { place, text, notes } = configuration;
  return [`# ${title}: ${place}`, ...[...notes, ...moreNotes].map((note) => `# ${note}`), text, ""];
}

interface Reached {
  readonly connection: Connection;
  readonly notes: readonly string[];
}

function reach({ flags, loadConfig }: CommandContext): Result<Reached, string> {
  const { transport = "http", url, "token-variable": tokenVariable } = flags;
  if (transport !== "http" && transport !== "stdio") return failure("error: --transport must be http or stdio\n");
  if (tokenVariable !== undefined && !/^[A-Za-z_]\w*$/.test(tokenVariable)) {
    return failure("error: --token-variable must be the name of an environment variable\n");
  }
  if (transport === "http" && url !== undefined) return reachUrl(url, tokenVariable);
  const config = loadConfig();
  if (!config.ok) return failure(describeProblems(config.error));
  return transport === "stdio" ? success(reachByStdio(config.value)) : reachConfigured(config.value, tokenVariable);
}

/** Names the directories and the file, since a client starts the program in a directory and environment of its own. */
function reachByStdio({ storage: { dataDir }, workspace: { dir: workspaceDir }, configFile }: Config): Reached {
  const { command, args } = thisProgram();
  const config = configFile === undefined ? [] : ["--config", configFile];
  const note = "Put other settings, such as OLLAMA_HOST, into ~/.portcullis.env, or into the client's configuration.";
  return {
    connection: {
      kind: "stdio",
      command,
      args: [...args, "stdio", ...config, "--data-dir", dataDir, "--workspace", workspaceDir],
    },
    notes: configFile === undefined ? [note] : [],
  };
}

function reachUrl(url: string, tokenVariable: string | undefined): Result<Reached, string> {
  const parsed = parseServerUrl(url.replace(/\/mcp\/?$/, ""));
  if (!parsed.ok) return failure(`error: --url ${parsed.error}\n`);
  return success({ connection: overHttp(parsed.value, tokenVariable), notes: [] });
}

function reachConfigured(config: Config, tokenVariable: string | undefined): Result<Reached, string> {
  if (config.http.serverUrl === undefined && config.http.port === 0) {
    return failure(
      "error: with port 0, the address is not known before the start\nhint: give --url the address that the server printed\n",
    );
  }
  const which = config.authorizationServer.clientMetadataDocuments
    ? "a client that does not identify itself by an https address"
    : "every client";
  const notes = config.authorizationServer.registration === "open" || tokenVariable !== undefined ? [] : [
    `REGISTRATION is ${config.authorizationServer.registration}: ${which} needs --token-variable, or \`${
      commandLine("clients create")
    }\`.`,
  ];
  return success({ connection: overHttp(serverUrlFor(config.http, config.http.port), tokenVariable), notes });
}

function overHttp(serverUrl: string, tokenVariable: string | undefined): Connection {
  return { kind: "http", serverUrl, ...(tokenVariable === undefined ? {} : { tokenVariable }) };
}

// How clients in the cloud reach a server on a machine without an open port, by the tunnels that are installed here.

const tunnels = [
  {
    program: "tailscale",
    needs: "Funnel allowed for this machine in the tailnet's policy (the command prints a link for that)",
    lines: (port: number) => [`tailscale funnel --bg ${port}`],
    address: "https://MACHINE.TAILNET.ts.net (the command prints it)",
  },
  {
    program: "cloudflared",
    needs: "a domain at Cloudflare (a quick tunnel without one gets another address at each start)",
    lines: (port: number) => [
      "cloudflared tunnel login",
      "cloudflared tunnel create portcullis",
      "cloudflared tunnel route dns portcullis mcp.example.com",
      `cloudflared tunnel run --url http://127.0.0.1:${port} portcullis`,
    ],
    address: "https://mcp.example.com",
  },
];

/** Lines for the terminal: the tunnels whose program `has` finds, or all of them, then the settings. */
export function tunnelAdvice(port: number, has: (program: string) => boolean): readonly string[] {
  const here = tunnels.filter(({ program }) => has(program));
  const shown = here.length > 0 ? here : tunnels;
  return [
    "",
    "On a machine with a public address and a DNS name, set PUBLIC_DOMAIN to the name.",
    ...here.length > 0
      ? ["Elsewhere, a tunnel that is installed here leads to this server:"]
      : ["Elsewhere a tunnel leads to this server; neither tailscale nor cloudflared is installed here. Install one:"],
    ...shown.flatMap(({ program, needs, lines, address }) => [
      "",
      `${program}, with ${needs}:`,
      ...lines(port).map((line) => `  ${line}`),
      `  then SERVER_URL=${address}`,
    ]),
    "",
    "Set that SERVER_URL, TRUST_PROXY=1 and REGISTRATION=off, start the server again, and look with `portcullis doctor`.",
  ];
}
