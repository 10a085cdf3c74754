/** `token create|list|revoke`: access tokens for scripts and for clients without OAuth. */
import { scopeCatalogue } from "../lib/principal.ts";
import { readSeconds } from "../lib/settings.ts";
import { administered, commandOf, type OpenInstallation, printTable } from "./action.ts";
import { type CommandContext, type CommandWork, endWith, type ExitStatus } from "./command.ts";

/** Loaded when an action runs: see action.ts. */
const load = () => import("../oauth/mod.ts");
type Tokens = Awaited<ReturnType<typeof load>>;

const scopeNames = scopeCatalogue.map(({ name }) => name);

const defaultLifetime = "1h";

/** Works beside a running server and before set-up: anyone who can read the data directory is the owner. */
export const tokenCommand: CommandWork = commandOf({
  usage: [
    'token create --scope "files:read files:write" [--ttl TIME] [--name NAME] [--user USER] [--directories NAMES]',
    "token list",
    "token revoke ID",
  ],
  flags: {
    scope: { value: "SCOPES", help: `what it allows, separated by blanks: ${scopeNames.join(", ")}` },
    ttl: { value: "TIME", help: "how long it is valid, up to a year: 90m, 12h, 30d, or seconds (default 1h)" },
    name: { value: "NAME", help: "a note for the list, at most 100 characters" },
    user: { value: "USER", help: "the user it acts for (default the owner)" },
    directories: { value: "NAMES", help: "those of the workspace that it may use, separated by commas (default all)" },
  },
  actions: {
    create: administered(load, create, ["scope", "ttl", "name", "user", "directories"]),
    list: administered(load, list),
    revoke: administered(load, revoke),
  },
});

async function create(tokens: Tokens, installation: OpenInstallation, context: CommandContext) {
  const { flags, print, say } = context;
  const { scope = "", ttl = defaultLifetime, name, user, directories } = flags;
  const chosen = directories?.split(",").map((each) => each.trim());
  const known = installation.config.workspace.directories.flatMap((each) => each.name || []);
  const unknown = chosen?.find((each) => !known.includes(each));
  if (unknown !== undefined) {
    const hint = known.length === 0 ? "the workspace is one directory" : `it has: ${known.join(", ")}`;
    return endWith(say, `error: --directories names no directory of the workspace: ${unknown}\nhint: ${hint}\n`, 2);
  }
  const created = await tokens.createOperatorToken(installation, {
    scope,
    lifetimeSeconds: readSeconds(ttl),
    ...(name === undefined ? {} : { name }),
    ...(chosen === undefined ? {} : { directories: chosen }),
    ...(user === undefined ? {} : { userId: user }),
  });
  if (!created.ok) return endWith(say, `error: --${created.error.field} ${created.error.message}\n`, 2);
  const { token, summary } = created.value;
  say(`token ${summary.id}, until ${new Date(summary.expiresAt).toISOString()}; it is shown this once\n`);
  print(`${token}\n`);
  return 0;
}

async function list(tokens: Tokens, installation: OpenInstallation, context: CommandContext): Promise<ExitStatus> {
  const alive = await tokens.listOperatorTokens(installation);
  return await printTable({
    columns: ["ID", "EXPIRES", "USER", "SCOPES", "NAME"],
    rows: alive.map(({ id, userId, scopes, directories, expiresAt, name }) => [
      id,
      new Date(expiresAt).toISOString(),
      userId,
      scopes.join(" ") + (directories === undefined ? "" : ` (only ${directories.join(", ")})`),
      name,
    ]),
    whenEmpty: "there are no tokens; `portcullis token create --scope files:read` makes one",
  }, context);
}

async function revoke(tokens: Tokens, installation: OpenInstallation, { say, words: [id = ""] }: CommandContext) {
  return await tokens.revokeOperatorToken(installation, id)
    ? endWith(say, "revoked; the next request with it is refused\n", 0)
    : endWith(say, `error: there is no token ${JSON.stringify(id)}\nhint: \`portcullis token list\` shows the ids\n`);
}
