/** Numbers and words of the documentation against the program: defaults, constants, log events, messages, metrics. */
import assert from "node:assert/strict";
import { root } from "../../scripts/bundle.ts";
import { settings } from "../../src/app/config/settings.ts";
import { toTextLine } from "../../src/lib/log.ts";

/** A page says these words because the setting has this default. */
const ofDefaults: readonly (readonly [page: string, words: string, variable: string, value: number])[] = [
  ["operations", "at least `TOOL_TIMEOUT` (600 s)", "TOOL_TIMEOUT", 600],
];

/** A page says these words because a file below src/ has this text. */
const ofConstants: readonly (readonly [page: string, words: string, file: string, text: string])[] = [
  ["security", "scrypt hashes with N = 2^17", "oauth/password_hash.ts", "costs: [17, 8, 1]"],
  [
    "security",
    "the last keys stay valid for a day",
    "oauth/client_directory.ts",
    "unreachableMs = 86_400_000",
  ],
  [
    "security",
    "at most two of the eight fetches",
    "lib/document_fetcher.ts",
    "maxFetchesOfOne = 2",
  ],
  ["security", "public https addresses, 240 a minute at most", "lib/document_fetcher.ts", "maxFetchesPerMinute = 240"],
  ["deploy", "every five minutes", "app/toolbox.ts", "sweepIntervalMs = 300_000"],
  ["operations", "first 10 of each kind in a minute", "lib/log.ts", "maxRepeatedLines = 10"],
  ["operations", "10 connections to PostgreSQL", "storage/postgres_storage.ts", "connections: 10"],
  ["operations", "waits up to 5 seconds for the lock", "storage/sqlite_storage.ts", "defaultBusyTimeoutMs = 5_000"],
  ["security", "gives one up after 30 seconds", "llm/port.ts", "shareMs: 30_000"],
  [
    "security",
    "So sessions there last ten minutes",
    "oauth/browser_sessions.ts",
    "maxSharedSessionSeconds = 600",
  ],
  [
    "servicenow",
    "240 calls a minute for each user",
    "app/servicenow_wiring.ts",
    "servicenowCallsPerMinute = 240",
  ],
  ["servicenow", "sent up to three times within 14 seconds", "servicenow/transport.ts", "maxReadAttempts = 3"],
  ["servicenow", "a tool ends within 24", "servicenow/servicenow.ts", "jobMs = 24_000"],
  ["servicenow", "have at most 64 MiB", "servicenow/attach_tool.ts", "maxFetchedBytes = 67_108_864"],
  ["servicenow", "attached ones 16 MiB", "servicenow/attach_tool.ts", "maxSentBytes = 16_777_216"],
  ["servicenow", "up to 10,000; beyond that", "servicenow/search.ts", "maxRows = 10_000"],
  ["servicenow", "a `Retry-After` of up to 3 seconds", "servicenow/transport.ts", "maxRetryAfterMs = 3_000"],
  [
    "security",
    "codes that work once within five minutes",
    "oauth/records.ts",
    "authorizationCodeLifetimeSeconds = 300",
  ],
  [
    "security",
    "For two minutes an old one returns the same successor",
    "oauth/token.ts",
    "refreshGraceSeconds = 120",
  ],
  [
    "storage",
    "unused, after 5 minutes; redeemed",
    "oauth/records.ts",
    "authorizationCodeLifetimeSeconds = 300",
  ],
  [
    "storage",
    "14 days after the last refresh",
    "oauth/token.ts",
    "refreshIdleLifetimeSeconds = 1_209_600",
  ],
  ["storage", "after 8 hours", "oauth/browser_sessions.ts", "maxSessionSeconds = 28_800"],
  [
    "storage",
    "after 90 days",
    "oauth/browser_sessions.ts",
    "knownBrowserLifetimeSeconds = 7_776_000",
  ],
  [
    "storage",
    "while unused, after 30 days",
    "oauth/register.ts",
    "unusedClientLifetimeSeconds = 2_592_000",
  ],
  [
    "operations",
    "a link that works once, within ten minutes",
    "oauth/authorization_server.ts",
    "setUpLinkLifetimeMs = 600_000",
  ],
  [
    "deploy",
    "two of them are checked at once",
    "oauth/password_hash.ts",
    "maxConcurrentHashes = 2",
  ],
  ["operations", "30 a minute for each address", "app/app.ts", "healthChecksPerMinute = 30"],
  ["storage", "the keys of the last 10,000 changes", "storage/sqlite_storage.ts", "keptRows = 10_000"],
  ["storage", "in pieces of 45,000 bytes", "files/store/write.ts", "chunkBytes = 45_000"],
  ["storage", "larger than 100,000 characters", "mcp/tasks.ts", "maxInlineCharacters = 100_000"],
  ["storage", "30 days after approval", "oauth/token.ts", "refreshTokenLifetimeSeconds = 2_592_000"],
  ["operations", "apart by up to 90 seconds", "oauth/access_token.ts", "clockLeewaySeconds = 90"],
  ["operations", "a queue of 1 MB", "lib/log.ts", "maxWaitingCharacters = 1_048_576"],
  ["operations", "for 30 s, the task has failed", "mcp/tasks.ts", "presumedDeadMs = 30_000"],
  [
    "operations",
    "for an hour only what has expired by both times",
    "lib/wall_clock_watch.ts",
    "steadyMs = 60 * 60_000",
  ],
  ["operations", "up to 256 MB", "storage/sqlite_storage.ts", "maxCheckedBytes = 256 * 2 ** 20"],
  ["operations", "four times a second", "storage/open_storage.ts", "lookEveryMs = 250"],
  ["operations", "PostgreSQL (13 or later)", "storage/postgres_storage.ts", "leastServerVersion = 130_000"],
  ["operations", "half a second or more after", "cli/welcome.ts", "sameSignalMs = 500"],
];

/** What the table "When something goes wrong" and the ServiceNow page quote of the program's messages. */
const messages = [
  ["operations", "Too many attempts"],
  ["servicenow", "The return address does not match"],
  ["servicenow", "Authentication required"],
  ["servicenow", "Authentication expired"],
  ["servicenow", "Insufficient permissions"],
] as const;

async function page(name: string): Promise<string> {
  return (await Deno.readTextFile(`${root}docs/${name}.md`)).replace(/\s+/g, " ");
}

async function sources(directory = `${root}src`): Promise<string> {
  const texts: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = `${directory}/${name}`;
    if (isDirectory) texts.push(await sources(path));
    else if (name.endsWith(".ts")) texts.push(await Deno.readTextFile(path));
  }
  return texts.join("\n");
}

Deno.test("documentation: the times and counts that pages give for settings are their defaults", async () => {
  const defaults = new Map(settings.map((s) => [s.env, s.default]));
  for (const [name, words, variable, value] of ofDefaults) {
    assert.ok((await page(name)).includes(words), `docs/${name}.md says ${words}`);
    assert.equal(defaults.get(variable), String(value), `docs/${name}.md: ${words}`);
  }
});

Deno.test("documentation: the times, counts and sizes that are no settings are those of the sources", async () => {
  for (const [name, words, file, text] of ofConstants) {
    assert.ok((await page(name)).includes(words), `docs/${name}.md says ${words}`);
    assert.ok((await Deno.readTextFile(`${root}src/${file}`)).includes(text), `src/${file} has ${text}: ${words}`);
  }
});

Deno.test("documentation: log events and messages that pages quote are those of the program", async () => {
  const all = await sources();
  const operations = await page("operations");
  const events = [...operations.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, event = ""]) => event);
  const keys =
    /^(traceparent|redirect_uris|dropped_redirect_uris|worker_connections|worker_rlimit_nofile|llm_generate)$/;
  assert.ok(events.includes("storage_unavailable") && events.includes("accept_failed"));
  for (const event of events.filter((name) => !keys.test(name))) {
    assert.ok(all.includes(`"${event}"`), `the log has ${event}`);
  }
  const line = toTextLine("2026-11-22T09:30:00.000Z", "error", "sweep_failed", { key: "value" });
  assert.ok(operations.includes(`\`${line}\``), `the page shows ${line}`);
  for (const [name, message] of messages) {
    assert.ok((await page(name)).includes(message), `docs/${name}.md says ${message}`);
    assert.ok(all.includes(message), `the program says ${message}`);
  }
});
