/** Variables of earlier versions that set nothing any more, with what holds now. One that is set is named at the start. */
import type { Log } from "../../lib/log.ts";

/** A variable that has no effect. */
export interface FormerSetting {
  readonly name: string;
  /** What holds now, as it ends a sentence: a value, or the setting to use instead. */
  readonly now: string;
}

type FormerSettingRow = readonly [
  name: string,
  now: string,
  /** For a setting that is still there: whether this text asks for what it no longer does. */
  isFormer?: (text: string) => boolean,
];

const formerSettings: readonly FormerSettingRow[] = [
  ["BODY_TIMEOUT", "20 seconds"],
  ["FORM_BODY_LIMIT", "65536 bytes"],
  ["JSON_BODY_LIMIT", "twice MAX_WRITE_BYTES and 65536 bytes"],
  ["LOG_MAX_REPEAT_KINDS", "500"],
  ["LOG_REPEATS", "10"],
  ["LOG_REPEAT_WINDOW", "60 seconds"],
  ["METRICS_HOST", "METRICS_PORT takes HOST:PORT"],
  ["OAUTH_BODY_LIMIT", "65536 bytes"],
  ["POSTGRES_CONNECTIONS", "10"],
  ["POSTGRES_STATEMENT_TIMEOUT", "10 seconds"],
  ["PUBLIC_BODY_LIMIT", "65536 bytes"],
  ["QUERY_LIMIT", "8192 bytes"],
  ["REGISTRATION_RATE_LIMIT", "a fifth of OAUTH_RATE_LIMIT, an hour"],
  ["STORAGE_BUSY_TIMEOUT_MS", "5000 milliseconds"],
  ["SWEEP_INTERVAL", "300 seconds"],
  ["HEALTH_RATE_LIMIT", "30 a minute"],
  ["JWT_ISSUER", "SERVER_URL is the issuer"],
  ["STREAM_AFTER", "0.25 seconds"],
  ["WORKSPACE_WATCH", "on"],
  ["WATCH_DELAY_MS", "200 milliseconds"],
  ["WATCH_MAX_PATHS", "500"],
  ["WATCH_MAX_DIRECTORIES", "8192"],
  ["WATCH_MAX_FILES", "100000"],
  ["MAX_READ_BYTES", "1 MiB"],
  ["MAX_READ_FILES", "50"],
  ["MAX_LIST_ENTRIES", "1000"],
  ["MAX_FILE_BYTES", "64 MiB"],
  ["MAX_TREE_ENTRIES", "20000"],
  ["WORKSPACE_QUOTA_FILES", "no limit"],
  ["FILE_WALK_TIMEOUT", "10 seconds"],
  ["CLIENT_METADATA_TIMEOUT", "5 seconds"],
  ["CLIENT_METADATA_MAX_BYTES", "5 KiB"],
  ["CLIENT_METADATA_MAX_FETCHES", "8 at once"],
  ["CLIENT_METADATA_FRESHNESS", "5 minutes"],
  ["CLIENT_METADATA_MAX_FRESHNESS", "an hour"],
  ["CLIENT_METADATA_MAX_CACHED", "500 documents"],
  ["CLIENT_KEYS_FRESHNESS", "10 minutes"],
  ["CLIENT_KEYS_RETRY", "60 seconds"],
  ["CLIENT_KEYS_MAX_CACHED", "200 sets of keys"],
  ["MAX_REDIRECT_URIS", "20 redirect URIs"],
  ["MAX_UNUSED_CLIENTS", "1,000 clients"],
  ["UNUSED_CLIENT_GRACE", "an hour"],
  ["UNUSED_CLIENT_LIFETIME", "30 days"],
  ["SIGNING_KEY_LEAD", "15 minutes"],
  ["AUTHORIZATION_CODE_LIFETIME", "5 minutes"],
  ["REFRESH_GRACE", "2 minutes"],
  ["REFRESH_IDLE_LIFETIME", "14 days"],
  ["AUTHORIZATION_REQUEST_LIFETIME", "10 minutes"],
  ["SIGN_IN_LIFETIME", "8 hours"],
  ["KNOWN_BROWSER_LIFETIME", "90 days"],
  ["SET_UP_LINK_LIFETIME", "10 minutes"],
  ["PASSWORD_MAX_CONCURRENT", "2 at once"],
  ["PASSWORD_MAX_WAITING", "16 passphrases"],
  ["MAX_CACHED_TOKENS", "10,000 tokens"],
  ["SERVICENOW_RATE_LIMIT", "240 calls a minute"],
  ["SERVICENOW_ATTEMPT_TIMEOUT", "10 seconds"],
  ["SERVICENOW_CALL_TIMEOUT", "14 seconds"],
  ["SERVICENOW_MAX_ATTEMPTS", "3 attempts"],
  ["SERVICENOW_RETRY_DELAY_MS", "250 milliseconds"],
  ["SERVICENOW_MAX_RETRY_AFTER", "3 seconds"],
  ["SERVICENOW_MAX_PAUSE", "an hour"],
  ["SERVICENOW_MAX_PAUSED_USERS", "10,000 users"],
  ["SERVICENOW_MAX_REPLY_BYTES", "1 MiB"],
  ["SERVICENOW_MAX_ATTACHMENT_BYTES", "1 MiB"],
  ["SERVICENOW_MAX_FIELD_CHARACTERS", "20,000 characters"],
  ["SERVICENOW_MAX_SEARCH_RESULTS", "50 records"],
  ["SERVICENOW_MAX_TEXT_CHARACTERS", "20,000 characters"],
  ["SERVICENOW_TOKEN_TIMEOUT", "10 seconds"],
  ["SERVICENOW_REFRESH_EARLY", "60 seconds"],
  ["SERVICENOW_REFRESH_LOCK", "30 seconds"],
  ["SERVICENOW_REFRESH_PAUSE", "5 seconds"],
  ["SERVICENOW_LINK_TIMEOUT", "10 minutes"],
  ["OLLAMA_HOST", "one host, the first of the list", (text) => /[^,\s]\s*,\s*[^,\s]/.test(text)],
  ["LLM_MAX_WAITING", "16 calls"],
  ["LLM_FIRST_BYTE_TIMEOUT", "the whole time of the call"],
  ["LLM_IDLE_TIMEOUT", "30 seconds"],
  ["LLM_TOTAL_TIMEOUT", "2 seconds less than TOOL_TIMEOUT"],
  ["LLM_MAX_PROMPT_BYTES", "256 KiB"],
  ["LLM_MAX_OUTPUT_BYTES", "1 MiB"],
  ["LLM_PROBE_TIMEOUT", "3 seconds"],
  ["LLM_MAX_ATTEMPTS", "3 attempts"],
  ["LLM_RETRY_DELAY_MS", "250 milliseconds"],
  ["LLM_HEALTH_LIFETIME", "no effect with one host"],
  ["LLM_MAX_LINE_BYTES", "1 MiB"],
  ["LLM_MAX_ERROR_BYTES", "64 KiB"],
  ["LLM_MAX_REPLY_BYTES", "16 MiB"],
  ["PUBLIC_CLIENT_PATTERN", "clients whose name contains servicenow"],
  ["MCP_SESSION_LIFETIME", "7 days"],
  ["MAX_STREAMS", "2,000 streams"],
  ["MAX_STREAMS_PER_USER", "1,000 streams of a user's client"],
  ["MAX_CACHED_SESSIONS", "20,000 sessions"],
  ["STREAM_KEEP_ALIVE", "15 seconds"],
  ["STREAM_RETRY_MS", "1 second"],
  ["STREAM_RESUME_WINDOW", "5 minutes"],
  ["STREAM_MAX_QUEUED", "256 messages"],
  ["STREAM_RESUME_ANSWER_MS", "3 seconds"],
  ["STREAM_MAX_REPLAY", "16,777,216 characters"],
  ["ASK_TIMEOUT", "5 minutes"],
  ["REQUEST_STATE_LIFETIME", "15 minutes"],
  ["LIST_PAGE_SIZE", "200 entries"],
  ["LIST_LIFETIME", "60 seconds"],
  ["MAX_BATCH_LENGTH", "50 messages"],
  ["MAX_SUBSCRIPTIONS", "100 resources"],
  ["TASK_LIFETIME", "an hour"],
  ["TASK_POLL_INTERVAL", "1 second"],
  ["TASK_HEARTBEAT", "5 seconds"],
  ["MAX_TASKS_PER_USER", "50 tasks of a user's client"],
  ["STDIO_MAX_IN_FLIGHT", "64 calls"],
];

/** What a compiled program has to be allowed to read, to name it. */
export const formerSettingNames: readonly string[] = formerSettings.map(([name]) => name);

/** The rows of the table whose variable is set. */
export function formerSettingsIn(env: Readonly<Record<string, string | undefined>>): readonly FormerSetting[] {
  return formerSettings
    .filter(([name, , isFormer = () => true]) => env[name] && isFormer(env[name]))
    .map(([name, now]) => ({ name, now }));
}

/** All of them in one sentence; `null` where none is set. */
export function describeFormerSettings(found: readonly FormerSetting[]): string | null {
  if (found.length === 0) return null;
  return `no longer a setting: ${found.map(({ name, now }) => `${name} (now: ${now})`).join(", ")}`;
}

export function warnOfFormerSettings(found: readonly FormerSetting[], log: Log): void {
  const problem = describeFormerSettings(found);
  if (problem === null) return;
  log.write("warn", "former_settings", {
    problem,
    remedy: "remove them from the environment or the configuration file",
  });
}
