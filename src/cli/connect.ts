/** `connect`: prints the exact configuration with which a client reaches this server. */
import { describeProblems } from "../config/describe_problems.ts";
import { parseServerUrl } from "../config/parsers.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { serverUrlFor } from "../server_url.ts";
import {
  type ClientConfiguration,
  type ClientFormat,
  clientFormats,
  type Connection,
} from "./client_configurations.ts";
import { thisProgram } from "./this_program.ts";
import type { Command, CommandContext, ExitStatus } from "./command.ts";

const clientNames = clientFormats.map(({ name }) => name);

/** With a client's name, standard output is the configuration alone, so that a shell can send it to its file. */
export const connectCommand: Command = {
  name: "connect",
  summary: "prints how a client connects, in its own format",
  usage: [
    "connect [CLIENT] [--url URL] [--token-variable NAME]",
    "connect [CLIENT] --transport stdio",
    `CLIENT is one of: ${clientNames.join(", ")}`,
  ],
  words: clientNames,
  flags: {
    transport: "http (the default), or stdio, where the client starts the program itself",
    url: "the server's address, when it is not the one that the settings give",
    "token-variable": "environment variable that holds an access token, for a client without a browser",
  },
  run: connect,
};

function connect(context: CommandContext): ExitStatus {
  const { words, print, say } = context;
  const [name, ...more] = words;
  const chosen = name === undefined ? clientFormats : clientFormats.filter((client) => client.name === name);
  if (chosen.length === 0 || more.length > 0) {
    say(`error: there is no client ${JSON.stringify(words.join(" "))}\nhint: clients are ${clientNames.join(", ")}\n`);
    return 2;
  }
  const connection = connectionOf(context);
  if (!connection.ok) {
    say(connection.error);
    return 2;
  }
  if (name === undefined) {
    print(chosen.flatMap((client) => section(client, client.configure(connection.value))).join("\n"));
    return 0;
  }
  const configuration = chosen[0]?.configure(connection.value) ?? null;
  if (configuration === null) {
    say(`error: ${chosen[0]?.title} cannot connect in that way\nhint: leave the flags out\n`);
    return 1;
  }
  say(`${[`${chosen[0]?.title}: ${configuration.place}`, ...configuration.notes].join("\n")}\n\n`);
  print(`${configuration.text}\n`);
  return 0;
}

function section({ title }: ClientFormat, configuration: ClientConfiguration | null): string[] {
  if (configuration === null) return [];
  const { place, text, notes } = configuration;
  return [`# ${title}: ${place}`, ...notes.map((note) => `# ${note}`), text, ""];
}

function connectionOf({ flags, loadConfig }: CommandContext): Result<Connection, string> {
  const { transport = "http", url, "token-variable": tokenVariable } = flags;
  if (transport === "stdio") return stdioConnection(loadConfig);
  if (transport !== "http") return failure("error: --transport must be http or stdio\n");
  if (tokenVariable !== undefined && !/^[A-Za-z_]\w*$/.test(tokenVariable)) {
    return failure("error: --token-variable must be the name of an environment variable\n");
  }
  const serverUrl = url === undefined ? configuredUrl(loadConfig) : givenUrl(url);
  if (!serverUrl.ok) return serverUrl;
  return success({
    kind: "http",
    serverUrl: serverUrl.value,
    ...(tokenVariable === undefined ? {} : { tokenVariable }),
  });
}

/** The directories go along, since a client starts the program in a directory and an environment of its own. */
function stdioConnection(loadConfig: CommandContext["loadConfig"]): Result<Connection, string> {
  const config = loadConfig();
  if (!config.ok) return failure(describeProblems(config.error));
  const { dataDir, workspaceDir } = config.value;
  const { command, args } = thisProgram();
  return success({
    kind: "stdio",
    command,
    args: [...args, "stdio", "--data-dir", dataDir, "--workspace", workspaceDir],
  });
}

function givenUrl(url: string): Result<string, string> {
  const parsed = parseServerUrl(url.replace(/\/mcp\/?$/, ""));
  return parsed.ok ? parsed : failure(`error: --url ${parsed.error}\n`);
}

function configuredUrl(loadConfig: CommandContext["loadConfig"]): Result<string, string> {
  const config = loadConfig();
  if (!config.ok) return failure(describeProblems(config.error));
  if (config.value.serverUrl === undefined && config.value.port === 0) {
    return failure(
      "error: port 0 says nothing about the address\nhint: give the one that the server printed, with --url\n",
    );
  }
  return success(serverUrlFor(config.value, config.value.port));
}
