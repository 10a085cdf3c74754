/** How MCP is spoken, and to whom. */
import { parseChoice, parseInteger, parsePattern } from "../parsers.ts";
import { day, mebibyte, required, year } from "../setting.ts";

/** Settings under the heading Protocol. */
export const protocolSettings = {
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
  sessionLifetimeSeconds: required({
    env: "MCP_SESSION_LIFETIME",
    default: String(7 * day),
    parse: parseInteger(60, year),
    help: "life of an MCP session in seconds",
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
  toolTimeoutSeconds: required({
    env: "TOOL_TIMEOUT",
    default: "600",
    parse: parseInteger(1, 86_400),
    help: "seconds after which a tool call is stopped",
  }),
  maxCachedSessions: required({
    env: "MAX_CACHED_SESSIONS",
    default: "20000",
    parse: parseInteger(1, 10_000_000),
    help: "MCP sessions that are kept in memory; others are read again",
  }),
  streamKeepAliveSeconds: required({
    env: "STREAM_KEEP_ALIVE",
    default: "15",
    parse: parseInteger(1, 3_600),
    help: "seconds of silence after which an event stream gets a comment, so that proxies keep it",
  }),
  streamRetryMilliseconds: required({
    env: "STREAM_RETRY_MS",
    default: "1000",
    parse: parseInteger(1, 600_000),
    help: "milliseconds that a client waits before it comes back to an event stream",
  }),
  streamResumeSeconds: required({
    env: "STREAM_RESUME_WINDOW",
    default: "300",
    parse: parseInteger(0, day),
    help: "seconds in which an interrupted event stream can be continued",
  }),
  streamMaxQueuedMessages: required({
    env: "STREAM_MAX_QUEUED",
    default: "256",
    parse: parseInteger(1, 1_000_000),
    help: "messages that one event stream holds for a slow client",
  }),
  streamResumeAnswerMilliseconds: required({
    env: "STREAM_RESUME_ANSWER_MS",
    default: "3000",
    parse: parseInteger(1, 600_000),
    help: "milliseconds that other instances have to say that they hold a stream which a client comes back to here",
  }),
  streamMaxReplayCharacters: required({
    env: "STREAM_MAX_REPLAY",
    default: String(16 * mebibyte),
    parse: parseInteger(0, 1024 * mebibyte),
    help: "characters that ended event streams keep together, to be sent again",
  }),
  askTimeoutSeconds: required({
    env: "ASK_TIMEOUT",
    default: "300",
    parse: parseInteger(1, day),
    help: "seconds that a person or a client's model may take to answer a question of a tool",
  }),
  requestStateLifetimeSeconds: required({
    env: "REQUEST_STATE_LIFETIME",
    default: "900",
    parse: parseInteger(1, day),
    help: "seconds in which a client may send the answers to such questions in a new request",
  }),
  listPageSize: required({
    env: "LIST_PAGE_SIZE",
    default: "200",
    parse: parseInteger(1, 10_000),
    help: "entries on a page of tools, resources or prompts",
  }),
  listLifetimeSeconds: required({
    env: "LIST_LIFETIME",
    default: "60",
    parse: parseInteger(0, day),
    help: "seconds for which a client may keep such a list",
  }),
  maxBatchLength: required({
    env: "MAX_BATCH_LENGTH",
    default: "50",
    parse: parseInteger(1, 10_000),
    help: "messages in a JSON-RPC batch",
  }),
  maxSubscriptions: required({
    env: "MAX_SUBSCRIPTIONS",
    default: "100",
    parse: parseInteger(1, 100_000),
    help: "resources that one client may watch",
  }),
  taskLifetimeSeconds: required({
    env: "TASK_LIFETIME",
    default: "3600",
    parse: parseInteger(1, 30 * day),
    help: "life of a task in seconds, its result included",
  }),
  taskPollSeconds: required({
    env: "TASK_POLL_INTERVAL",
    default: "1",
    parse: parseInteger(1, 3_600),
    help: "seconds that a client is told to wait between two looks at a task",
  }),
  taskHeartbeatSeconds: required({
    env: "TASK_HEARTBEAT",
    default: "5",
    parse: parseInteger(1, 10), // after 30 seconds of silence, a task counts as lost
    help: "seconds between two signs of life of a running task, and two looks at what others left for it",
  }),
  maxTasksPerUser: required({
    env: "MAX_TASKS_PER_USER",
    default: "50",
    parse: parseInteger(1, 100_000),
    help: "tasks that one user's clients may have",
  }),
  stdioMaxInFlight: required({
    env: "STDIO_MAX_IN_FLIGHT",
    default: "64",
    parse: parseInteger(1, 10_000),
    help: "calls that `stdio` runs at once",
  }),
};
