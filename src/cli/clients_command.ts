/** `clients create|list|approve|remove`: creates OAuth clients, lists, approves and removes them and those that registered themselves. */
import { scopeCatalogue } from "../lib/principal.ts";
import { readSeconds } from "../lib/settings.ts";
import { administered, commandOf, type OpenInstallation, printTable } from "./action.ts";
import { type CommandContext, type CommandWork, endWith, type ExitStatus } from "./command.ts";

/** Loaded when an action runs: see action.ts. */
const load = () => import("../oauth/mod.ts");
type Clients = Awaited<ReturnType<typeof load>>;

const scopeNames = scopeCatalogue.map(({ name }) => name);
const grantNames = ["authorization_code", "client_credentials"] as const;
const authenticationMethods = [
  "none",
  "client_secret_basic",
  "client_secret_post",
  "client_secret_any",
  "private_key_jwt",
] as const;

/** Works beside a running server. */
export const clientsCommand: CommandWork = commandOf({
  usage: [
    'clients create --name NAME --scope "files:read" [--auth-method private_key_jwt --jwks FILE]',
    "clients create --name NAME --scope SCOPES --redirect-uri URI[,URI]",
    "clients create --name NAME --scope SCOPES --assertions",
    "clients list",
    'clients approve ID --scope "files:read" [--assertions]',
    "clients remove ID",
  ],
  flags: {
    name: { value: "NAME", help: "what people see" },
    scope: { value: "SCOPES", help: `what it may be granted, separated by blanks: ${scopeNames.join(", ")}` },
    grant: { value: "GRANTS", help: `comma-separated: ${grantNames.join(", ")} (default client_credentials)` },
    "redirect-uri": {
      value: "URIS",
      help: "where people are sent back to, comma-separated: https, loopback or com.example.app:/callback; makes " +
        "--grant authorization_code the default",
    },
    redirect: { value: "URIS", help: "the same as --redirect-uri" },
    "auth-method": {
      value: "METHOD",
      help: `how it authenticates: ${authenticationMethods.join(", ")} (default client_secret_any)`,
    },
    jwks: { value: "FILE", help: "a file with the client's public keys (JWK set), for private_key_jwt" },
    "secret-ttl": { value: "TIME", help: "how long its secret is valid: 12h, 30d, or seconds (default: no end)" },
  },
  switches: {
    assertions:
      "it may bring identity assertions of the company's provider (see OIDC_ASSERTIONS) in place of a sign-in",
  },
  actions: {
    create: administered(
      load,
      create,
      ["name", "scope", "grant", "redirect-uri", "redirect", "auth-method", "jwks", "secret-ttl", "assertions"],
    ),
    list: administered(load, list),
    approve: administered(load, approve, ["scope", "assertions"]),
    remove: administered(load, remove),
  },
});

async function create(clients: Clients, installation: OpenInstallation, { flags, print, say }: CommandContext) {
  const request = await requestOf(flags);
  if (typeof request === "string") return endWith(say, `error: ${request}\n`, 2);
  const created = await clients.createClient(installation, request);
  if (!created.ok) return endWith(say, `error: --${created.error.field} ${created.error.message}\n`, 2);
  const { client, secret } = created.value;
  print(`client_id=${client.id}\n`);
  if (secret !== null) {
    print(`client_secret=${secret}\n`);
    say("the secret is shown this once\n");
  }
  return 0;
}

async function requestOf(flags: CommandContext["flags"]): Promise<Parameters<Clients["createClient"]>[1] | string> {
  const assertions = flags["assertions"] !== undefined;
  const redirectUris = itemsOf(flags["redirect-uri"] ?? flags["redirect"] ?? "");
  const defaultGrant = redirectUris.length > 0 ? "authorization_code" : assertions ? "" : "client_credentials";
  const { name = "", scope = "", grant = defaultGrant, jwks } = flags;
  const grants = itemsOf(grant);
  const grantTypes = grantNames.filter((known) => grants.includes(known));
  if (grantTypes.length !== grants.length) return `--grant must be of: ${grantNames.join(", ")}`;
  const method = flags["auth-method"];
  const authentication = authenticationMethods.find((known) => known === method);
  if (method !== undefined && authentication === undefined) {
    return `--auth-method must be one of: ${authenticationMethods.join(", ")}`;
  }
  const ttl = flags["secret-ttl"];
  const keys = jwks === undefined ? undefined : await Deno.readTextFile(jwks).catch(() => null);
  if (keys === null) return "--jwks names a file that cannot be read";
  return {
    name,
    scope,
    grantTypes,
    assertions,
    redirectUris,
    ...(authentication === undefined ? {} : { authentication }),
    ...(keys === undefined ? {} : { jwks: keys }),
    ...(ttl === undefined ? {} : { secretLifetimeSeconds: readSeconds(ttl) }),
  };
}

function itemsOf(text: string): string[] {
  return text.split(",").map((item) => item.trim()).filter((item) => item !== "");
}

async function list(clients: Clients, installation: OpenInstallation, context: CommandContext): Promise<ExitStatus> {
  const all = await clients.listClients(installation);
  return await printTable({
    columns: ["ID", "ORIGIN", "SINCE", "APPROVED", "GRANT TYPES", "NAME"],
    rows: all.map(({ id, origin, registeredAt, usedAt, grantTypes, name }) => [
      id,
      origin,
      new Date(registeredAt).toISOString(),
      // Approvals of a client that the operator created are not recorded.
      origin === "operator"
        ? "-"
        : usedAt !== null
        ? new Date(usedAt).toISOString()
        : grantTypes.includes("client_credentials")
        ? "held"
        : "never",
      grantTypes.join(",").replace("urn:ietf:params:oauth:grant-type:", ""),
      name,
    ]),
    whenEmpty: "there are no clients; one that registers appears here, and `portcullis clients create` makes one",
  }, context);
}

async function approve(clients: Clients, installation: OpenInstallation, { flags, say, words }: CommandContext) {
  const [id = ""] = words;
  const { scope = "", assertions } = flags;
  const approved = await clients.approveClient(installation, { id, scope, assertions: assertions !== undefined });
  if (approved.ok) {
    const how = assertions === undefined ? "in its own name" : "for people whom the company's provider vouches for";
    return endWith(say, `approved; it may have ${approved.value.scopes.join(" ")} ${how}\n`, 0);
  }
  const { field, message } = approved.error;
  return field === "id"
    ? endWith(
      say,
      `error: ${message}\nhint: \`portcullis clients list\` shows ${
        assertions === undefined ? 'waiting clients as "held"' : "the ids"
      }\n`,
    )
    : endWith(say, `error: --${field} ${message}\n`, 2);
}

async function remove(clients: Clients, installation: OpenInstallation, { say, words: [id = ""] }: CommandContext) {
  return await clients.removeClient(installation, id)
    ? endWith(say, "removed, with everything it was granted\n", 0)
    : endWith(
      say,
      `error: there is no client ${JSON.stringify(id)}\nhint: \`portcullis clients list\` shows the ids\n`,
    );
}
