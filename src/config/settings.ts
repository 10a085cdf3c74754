/**
 * Every setting there is: its name in the environment, its flag, its default and what it means. The help text, the
 * parser and the type of the configuration all come from this table.
 */
import { failure, type Result, success } from "../lib/result.ts";
import { type OllamaHost, parseOllamaHosts } from "../ollama/host.ts";
import { parseDatabaseUrl } from "../storage/database_url.ts";
import {
  parseChoice,
  parseHost,
  parseInstanceUrl,
  parseInteger,
  parseList,
  parseMasterKey,
  parseOrigin,
  parsePasswordHash,
  parsePattern,
  parseServerUrl,
  parseStrongSecret,
  parseSwitch,
  parseText,
  parseTrustedProxies,
  type SettingParser,
} from "./parsers.ts";

/** One setting. `default` is text, so that it goes through the same parser; without it the setting may be absent. */
export interface Setting<T> {
  readonly env: string;
  readonly flag?: string;
  readonly default?: string;
  readonly parse: SettingParser<T>;
  readonly help: string;
  /** Never shown, not even in an error about it; can also be read from the file that `<env>_FILE` names. */
  readonly secret?: true;
}

const mebibyte = 1_048_576;
const year = 31_536_000;
const day = 86_400;

/** A list that is never empty, as a type says it. */
function nonEmpty<T>(items: readonly T[]): Result<readonly [T, ...T[]], string> {
  const [first, ...rest] = items;
  return first === undefined ? failure("must name at least one") : success([first, ...rest]);
}

const parseOllama: SettingParser<readonly [OllamaHost, ...OllamaHost[]]> = (text) => {
  const hosts = parseOllamaHosts(text);
  return hosts.ok ? nonEmpty(hosts.value) : failure(hosts.error.join("; "));
};

const parseModels: SettingParser<readonly [string, ...string[]]> = (text) => {
  const models = parseList(parseText)(text);
  return models.ok ? nonEmpty(models.value) : models;
};

function required<T>(setting: Omit<Setting<T>, "default"> & { default: string }): Setting<T> & { default: string } {
  return setting;
}

function optional<T>(setting: Omit<Setting<T>, "default">): Setting<T> & { default?: never } {
  return setting;
}

/** The table. Names that the ServiceNow guide fixed are kept as they are. */
export const settings = {
  host: required({ env: "HOST", flag: "host", default: "127.0.0.1", parse: parseHost, help: "address to listen on" }),
  port: required({
    env: "PORT",
    flag: "port",
    default: "3000",
    parse: parseInteger(0, 65_535),
    help: "port to listen on; 0 takes any free one",
  }),
  serverUrl: optional({
    env: "SERVER_URL",
    flag: "server-url",
    parse: parseServerUrl,
    help: "address under which clients reach the server; it is also the OAuth issuer",
  }),
  jwtIssuer: optional({
    env: "JWT_ISSUER",
    parse: parseServerUrl,
    help: "the guide's name for the issuer; must equal SERVER_URL when both are set",
  }),
  tlsCertificateFile: optional({
    env: "TLS_CERT_FILE",
    parse: parseText,
    help: "PEM file with the certificates to serve https with, the server's own first; read once, at the start",
  }),
  tlsKeyFile: optional({
    env: "TLS_KEY_FILE",
    parse: parseText,
    help: "PEM file with the private key that belongs to TLS_CERT_FILE",
  }),
  dataDir: required({
    env: "DATA_DIR",
    flag: "data-dir",
    default: "~/.portcullis",
    parse: parseText,
    help: "directory for the database and the master key",
  }),
  database: optional({
    env: "DATABASE_URL",
    parse: parseDatabaseUrl,
    secret: true,
    help:
      "keeps what the server knows in PostgreSQL (postgres://...) or Deno KV (deno-kv:PATH) instead of SQLite in DATA_DIR",
  }),
  masterKey: optional({
    env: "MASTER_KEY",
    parse: parseMasterKey,
    secret: true,
    help:
      "the key behind everything sealed and signed, instead of master.key in DATA_DIR; the same for every instance on one database",
  }),
  postgresConnections: required({
    env: "POSTGRES_CONNECTIONS",
    default: "10",
    parse: parseInteger(1, 1_000),
    help: "connections to PostgreSQL that one instance opens",
  }),
  postgresStatementTimeoutSeconds: required({
    env: "POSTGRES_STATEMENT_TIMEOUT",
    default: "10",
    parse: parseInteger(1, 600),
    help: "seconds that PostgreSQL may work on one statement",
  }),
  workspaceDir: required({
    env: "WORKSPACE_DIR",
    flag: "workspace",
    default: "~/mcp-workspace",
    parse: parseText,
    help: "directory that the file tools work in",
  }),
  workspaces: required({
    env: "WORKSPACES",
    default: "shared",
    parse: parseChoice(["shared", "per-user"]),
    help: "whether all users work in WORKSPACE_DIR, or each in a directory of their own below it",
  }),
  workspaceWatch: required({
    env: "WORKSPACE_WATCH",
    default: "on",
    parse: parseSwitch,
    help: "whether clients that subscribe to a file hear of its changes; costs one system watch for each directory",
  }),
  maxReadBytes: required({
    env: "MAX_READ_BYTES",
    default: String(mebibyte),
    parse: parseInteger(1, 64 * mebibyte),
    help: "largest file that file_read answers, in bytes",
  }),
  maxWriteBytes: required({
    env: "MAX_WRITE_BYTES",
    default: String(mebibyte),
    parse: parseInteger(1, 64 * mebibyte),
    help: "largest file that file_write makes, in bytes",
  }),
  maxListEntries: required({
    env: "MAX_LIST_ENTRIES",
    default: "1000",
    parse: parseInteger(1, 100_000),
    help: "most entries that file_list answers at once",
  }),
  maxFileBytes: required({
    env: "MAX_FILE_BYTES",
    default: String(64 * mebibyte),
    parse: parseInteger(1, 1024 * mebibyte),
    help: "how large a file may become by appending and copying, in bytes",
  }),
  maxTreeEntries: required({
    env: "MAX_TREE_ENTRIES",
    default: "20000",
    parse: parseInteger(1, 10_000_000),
    help: "most entries that one deletion takes away, or one search visits",
  }),
  workspaceQuotaBytes: optional({
    env: "WORKSPACE_QUOTA_BYTES",
    parse: parseInteger(1, 1_000_000_000_000),
    help: "how many bytes all files of the workspace may have together",
  }),
  workspaceQuotaFiles: optional({
    env: "WORKSPACE_QUOTA_FILES",
    parse: parseInteger(1, 1_000_000_000),
    help: "how many files and directories the workspace may have",
  }),
  deniedNames: optional({
    env: "WORKSPACE_DENY",
    parse: parseList(parseText),
    help: "names in the workspace that agents neither see nor reach, such as .env,*.pem; comma-separated",
  }),
  protectedNames: required({
    env: "WORKSPACE_PROTECT",
    default: ".git",
    parse: parseList(parseText),
    help: "names in the workspace that agents may read but not change, comma-separated",
  }),
  hardLinks: required({
    env: "HARD_LINKS",
    default: "refuse",
    parse: parseChoice(["refuse", "allow"]),
    help: "whether files with several names may be read; one of the names may lie outside the workspace",
  }),
  ollamaHosts: required({
    env: "OLLAMA_HOST",
    default: "http://127.0.0.1:11434",
    parse: parseOllama,
    help:
      "where Ollama listens, in any form that Ollama's own client takes; several, comma-separated, stand in for each other",
  }),
  ollamaApiKey: optional({
    env: "OLLAMA_API_KEY",
    parse: parseText,
    secret: true,
    help: "API key of a hosted Ollama",
  }),
  llmModels: required({
    env: "LLM_MODELS",
    default: "tinyllama,phi3",
    parse: parseModels,
    help: "models that agents may use, comma-separated; the first is the default",
  }),
  llmEmbeddingModels: optional({
    env: "LLM_EMBEDDING_MODELS",
    parse: parseList(parseText),
    help: "models that llm_embed may use, comma-separated; without any there is no llm_embed",
  }),
  llmMaxConcurrent: required({
    env: "LLM_MAX_CONCURRENT",
    default: "2",
    parse: parseInteger(1, 1_000),
    help: "generations that run at once",
  }),
  llmMaxWaiting: required({
    env: "LLM_MAX_WAITING",
    default: "16",
    parse: parseInteger(0, 10_000),
    help: "generations that wait for a place; more are refused",
  }),
  llmFirstByteTimeoutSeconds: required({
    env: "LLM_FIRST_BYTE_TIMEOUT",
    default: "120",
    parse: parseInteger(1, 3_600),
    help: "seconds until the model's first token",
  }),
  llmIdleTimeoutSeconds: required({
    env: "LLM_IDLE_TIMEOUT",
    default: "30",
    parse: parseInteger(1, 3_600),
    help: "seconds between two tokens",
  }),
  llmTotalTimeoutSeconds: required({
    env: "LLM_TOTAL_TIMEOUT",
    default: "300",
    parse: parseInteger(1, 86_400),
    help: "seconds for a whole generation",
  }),
  llmMaxPromptBytes: required({
    env: "LLM_MAX_PROMPT_BYTES",
    default: "262144",
    parse: parseInteger(1, 64 * mebibyte),
    help: "largest prompt, in bytes",
  }),
  llmMaxOutputBytes: required({
    env: "LLM_MAX_OUTPUT_BYTES",
    default: String(mebibyte),
    parse: parseInteger(1, 64 * mebibyte),
    help: "largest answer of a model, in bytes",
  }),
  registration: optional({
    env: "REGISTRATION",
    parse: parseChoice(["open", "token", "off"]),
    help: "who may register OAuth clients; default open on a loopback SERVER_URL, else token",
  }),
  registrationToken: optional({
    env: "DCR_AUTH_TOKEN",
    parse: parseStrongSecret,
    secret: true,
    help: "token that a client presents to register itself",
  }),
  ownerPasswordHash: optional({
    env: "OWNER_PASSWORD_HASH",
    parse: parsePasswordHash,
    secret: true,
    help: "the owner's passphrase, hashed by `hash-password`, for starts that nobody attends",
  }),
  accessTokenLifetimeSeconds: required({
    env: "ACCESS_TOKEN_LIFETIME",
    default: "3600",
    parse: parseInteger(1, day),
    help: "life of an access token in seconds",
  }),
  refreshTokenLifetimeSeconds: required({
    env: "REFRESH_TOKEN_LIFETIME",
    default: String(30 * day),
    parse: parseInteger(1, year),
    help: "life of a chain of refresh tokens in seconds",
  }),
  authorizationCodeLifetimeSeconds: required({
    env: "AUTHORIZATION_CODE_LIFETIME",
    default: "60",
    parse: parseInteger(1, 600), // RFC 6749 §4.1.2: at most ten minutes
    help: "life of an authorization code in seconds",
  }),
  refreshGraceSeconds: required({
    env: "REFRESH_GRACE",
    default: "30",
    parse: parseInteger(0, 300),
    help: "seconds in which the previous refresh token still gives the same successor",
  }),
  allowedOrigins: optional({
    env: "ALLOWED_ORIGINS",
    parse: parseList(parseOrigin),
    help: "web origins whose pages may call the server, comma-separated",
  }),
  allowedHosts: optional({
    env: "ALLOWED_HOSTS",
    parse: parseList(parseHost),
    help: "further names (with port) under which the server may be called, for example behind a proxy",
  }),
  trustedProxies: optional({
    env: "TRUST_PROXY",
    parse: parseTrustedProxies,
    help:
      "proxies that are believed about the client's address (X-Forwarded-For, Forwarded): how many, or their networks, comma-separated",
  }),
  clientMetadataDocuments: required({
    env: "CLIENT_METADATA_DOCUMENTS",
    default: "on",
    parse: parseSwitch,
    help:
      "whether clients may name themselves by an https URL that describes them; the server then fetches public https pages",
  }),
  compatibility: required({
    env: "COMPATIBILITY",
    default: "auto",
    parse: parseChoice(["auto", "spec", "servicenow"]),
    help: "whose habits answers follow where ServiceNow's differ from the specification; auto looks at each client",
  }),
  toolFailures: required({
    env: "TOOL_FAILURES",
    default: "result",
    parse: parseChoice(["result", "error"]),
    help:
      "how ServiceNow's clients are told that a tool failed: as a result with isError, or as the JSON-RPC error -32603 of its guide",
  }),
  publicInitialize: required({
    env: "PUBLIC_INITIALIZE",
    default: "auto",
    parse: parseChoice(["auto", "always", "never"]),
    help: "who may do the MCP handshake without a token",
  }),
  publicClientPattern: required({
    env: "PUBLIC_CLIENT_PATTERN",
    default: "servicenow",
    parse: parsePattern,
    help: "clients (by clientInfo.name) that `auto` lets do the handshake without a token",
  }),
  toolCallsPerMinute: required({
    env: "MCP_RATE_LIMIT",
    default: "600",
    parse: parseInteger(1, 1_000_000_000),
    help: "tool calls a minute for each user and client",
  }),
  oauthFailuresPerQuarterHour: required({
    env: "OAUTH_RATE_LIMIT",
    default: "100",
    parse: parseInteger(1, 1_000_000_000),
    help: "failed OAuth requests in 15 minutes for each address; ten times as many requests in all",
  }),
  registrationsPerHour: required({
    env: "REGISTRATION_RATE_LIMIT",
    default: "20",
    parse: parseInteger(1, 1_000_000_000),
    help: "client registrations an hour for each address",
  }),
  healthChecksPerMinute: required({
    env: "HEALTH_RATE_LIMIT",
    default: "30",
    parse: parseInteger(1, 1_000_000_000),
    help: "health checks a minute for each address",
  }),
  maxStreams: required({
    env: "MAX_STREAMS",
    default: "2000",
    parse: parseInteger(1, 1_000_000),
    help: "event streams that may be open at once",
  }),
  maxStreamsPerUser: required({
    env: "MAX_STREAMS_PER_USER",
    default: "1000",
    parse: parseInteger(1, 1_000_000),
    help: "event streams that one user's clients may have open at once",
  }),
  sessionLifetimeSeconds: required({
    env: "MCP_SESSION_LIFETIME",
    default: String(7 * day),
    parse: parseInteger(60, year),
    help: "life of an MCP session in seconds",
  }),
  toolTimeoutSeconds: required({
    env: "TOOL_TIMEOUT",
    default: "600",
    parse: parseInteger(1, 86_400),
    help: "seconds after which a tool call is stopped",
  }),
  maxBodyBytes: required({
    env: "JSON_BODY_LIMIT",
    default: String(mebibyte),
    parse: parseInteger(1_024, 64 * mebibyte),
    help: "largest JSON body of a request, in bytes",
  }),
  metricsPort: optional({
    env: "METRICS_PORT",
    parse: parseInteger(0, 65_535),
    help: "port on which Prometheus reads /metrics, without a token; not set: there are no metrics",
  }),
  metricsHost: required({
    env: "METRICS_HOST",
    default: "127.0.0.1",
    parse: parseHost,
    help: "address of that port; whoever can reach it can read them",
  }),
  shutdownTimeoutSeconds: required({
    env: "SHUTDOWN_TIMEOUT",
    default: "10",
    parse: parseInteger(0, 3_600),
    help: "seconds that requests in flight get when the server stops",
  }),
  shutdownDelaySeconds: required({
    env: "SHUTDOWN_DELAY",
    default: "0",
    parse: parseInteger(0, 600),
    help:
      "seconds in which a server that is told to stop still answers everything, but /health/ready with 503, so that a load balancer looks away first",
  }),
  logLevel: required({
    env: "LOG_LEVEL",
    default: "info",
    parse: parseChoice(["debug", "info", "warn", "error"]),
    help: "least level that is logged; audit lines always are",
  }),
  logFormat: optional({
    env: "LOG_FORMAT",
    parse: parseChoice(["json", "text"]),
    help: "how a line of the log is written; default text when standard error is a terminal, else json",
  }),
  servicenowInstance: optional({
    env: "SERVICENOW_INSTANCE",
    parse: parseInstanceUrl,
    help: "address of the ServiceNow instance whose records are offered, to each person with their own rights",
  }),
  servicenowClientId: optional({
    env: "SERVICENOW_CLIENT_ID",
    parse: parseText,
    help: "the instance's id of this server as an OAuth client",
  }),
  servicenowClientSecret: optional({
    env: "SERVICENOW_CLIENT_SECRET",
    parse: parseText,
    secret: true,
    help: "the secret that belongs to SERVICENOW_CLIENT_ID",
  }),
  servicenowWrite: required({
    env: "SERVICENOW_WRITE",
    default: "off",
    parse: parseSwitch,
    help: "whether tools that write to ServiceNow, and their scope, are offered",
  }),
  servicenowCallsPerMinute: required({
    env: "SERVICENOW_RATE_LIMIT",
    default: "60",
    parse: parseInteger(1, 1_000_000),
    help: "calls to the instance a minute for each person",
  }),
  signIn: required({
    env: "SIGN_IN",
    default: "local",
    parse: parseChoice(["local", "servicenow"]),
    help: "whether people sign in here, with a passphrase, or at the ServiceNow instance",
  }),
};

/** The name of a setting in the table. */
export type SettingName = keyof typeof settings;

type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** What the table gives once parsed: settings with a default are always there. */
export type SettingValues =
  & {
    readonly [Name in SettingName as (typeof settings)[Name] extends { default: string } ? Name : never]: ValueOf<
      (typeof settings)[Name]
    >;
  }
  & {
    readonly [Name in SettingName as (typeof settings)[Name] extends { default: string } ? never : Name]?: ValueOf<
      (typeof settings)[Name]
    >;
  };
