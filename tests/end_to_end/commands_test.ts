/** The program as scripts use it: commands, exit statuses, what goes to which stream, signals. */
import assert from "node:assert/strict";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { ownerPassphrase } from "../fixtures/owner.ts";
import {
  makeServerPlace,
  runCommand,
  type RunningServer,
  serverFlags,
  startServer,
} from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

const onSources = needing("sources");
const inOneProcess = needing("one process");
const withFlags = needing("flags");

const listTools = { jsonrpc: "2.0", id: 1, method: "tools/list" };

async function createToken(dataDir: string, scope: string, ...more: string[]): Promise<{ token: string; id: string }> {
  const { code, stdout, stderr } = await runCommand([
    "token",
    "create",
    "--scope",
    scope,
    "--data-dir",
    dataDir,
    ...more,
  ]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^\S+\n$/, "exactly the token, on one line");
  return { token: stdout.trim(), id: /^token (\S+),/m.exec(stderr)?.[1] ?? "" };
}

async function statusOf(response: Promise<Response>): Promise<number> {
  const { status, body } = await response;
  await body?.cancel();
  return status;
}

onSources.test("the tests start the server with the flags of `deno task start`", async () => {
  const manifest = JSON.parse(await Deno.readTextFile(new URL("../../deno.json", import.meta.url)));
  assert.equal(manifest.tasks.start, `deno run ${serverFlags.join(" ")} main.ts serve`);
});

onSources.test("deno.json has what the server imports and no more; deno.dev.json adds the tests' packages, and differs in nothing else", async () => {
  const read = async (name: string): Promise<Record<string, Record<string, unknown>>> =>
    JSON.parse(await Deno.readTextFile(new URL(`../../${name}`, import.meta.url)));
  const [server, tests] = [await read("deno.json"), await read("deno.dev.json")];
  for (const [name, version] of Object.entries(server["imports"] ?? {})) {
    assert.equal(tests["imports"]?.[name], version);
  }
  for (const same of ["compilerOptions", "unstable", "nodeModulesDir"]) {
    assert.deepEqual(tests[same], server[same], same);
  }
  const [locked, allLocked] = [await read("deno.lock"), await read("deno.dev.lock")];
  assert.deepEqual(Object.keys(locked["npm"] ?? {}).map((name) => name.slice(0, name.lastIndexOf("@"))), [
    "@cf-wasm/internals",
    "@cf-wasm/photon",
    "@noble/hashes",
    "diff",
    "dom-serializer",
    "domelementtype",
    "domhandler",
    "domutils",
    "entities",
    "hono",
    "htmlparser2",
    "jose",
    "jschardet",
    "jsonc-parser",
    "postal-mime",
    "postgres",
    "re2js",
    "unpdf",
    "zod",
  ]);
  for (const [name, entry] of Object.entries(locked["npm"] ?? {})) {
    assert.deepEqual(allLocked["npm"]?.[name], entry, name);
  }
});

inOneProcess.test("serve prints one line on standard output and everything else on standard error", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  assert.match(server.stdout(), /^portcullis listening on http:\/\/127\.0\.0\.1:\d+\n$/);
  assert.match(server.stderr(), /\/setup\?\S+/);
  const health = await fetch(`${server.url}/health`);
  assert.deepEqual(await health.json(), {
    status: "ok",
    version: "0.1.0",
    storage: "reachable",
    workspace: "reachable",
  });
  assert.equal(((await Deno.stat(place.dataDir)).mode ?? 0) & 0o777, 0o700);
  assert.ok((await Deno.stat(place.workspaceDir)).isDirectory);
});

Deno.test("serve stops at bad settings with every problem at once, exit status 2, and no secret", async () => {
  const { code, stdout, stderr } = await runCommand(["serve", "--port", "70000", "--colour", "blue"], {
    env: { DCR_AUTH_TOKEN: "weak-secret", SERVER_URL: "http://mcp.example.com", LLM_MODELS: " , " },
  });
  assert.equal(code, 2);
  assert.equal(stdout, "");
  for (const field of ["--port", "--colour", "DCR_AUTH_TOKEN", "SERVER_URL", "LLM_MODELS"]) {
    assert.ok(stderr.includes(field), field);
  }
  assert.ok(!stderr.includes("weak-secret"));
});

withFlags.test("serve on a port that is taken says so and exits 1", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  await using other = await makeServerPlace();
  const { code, stderr } = await runCommand([
    "serve",
    "--port",
    new URL(server.url).port,
    "--data-dir",
    other.dataDir,
    "--workspace",
    other.workspaceDir,
  ]);
  assert.equal(code, 1);
  assert.match(stderr, /error: cannot listen on 127\.0\.0\.1 port \d+: a Portcullis server already runs there\nhint: /);
});

Deno.test("--help and --version answer on standard output; an unknown command is refused", async () => {
  const help = await runCommand(["--help"]);
  assert.equal(help.code, 0);
  for (const word of ["serve", "token", "doctor", "hash-password", "help COMMAND", "config --all"]) {
    assert.ok(help.stdout.includes(word), word);
  }
  assert.match(
    (await runCommand(["--version"])).stdout,
    /^portcullis \d+\.\d+\.\d+ \((from source|bundle|npm|program|container)(, [0-9a-f]{12})?(, (files|changed:) [0-9a-f]{12})?\)\n$/,
  );
  const unknown = await runCommand(["server"]);
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /^error: there is no command "server"; did you mean serve\?\nhint: /);
});

Deno.test("token create, list and revoke work before set-up and while the server runs", async () => {
  await using place = await makeServerPlace();
  const early = await createToken(place.dataDir, "files:read files:write", "--name", "nightly job");
  await using server = await startServer(place);
  const late = await createToken(place.dataDir, "files:read", "--ttl", "60");
  assert.equal(await statusOf(postMcp(server.url, listTools, early)), 200);
  assert.equal(await statusOf(postMcp(server.url, listTools, late)), 200);

  const listed = await runCommand(["token", "list", "--data-dir", place.dataDir]);
  assert.match(listed.stdout, new RegExp(`^${early.id} .*files:read files:write.*nightly job$`, "m"));
  assert.ok(listed.stdout.includes(late.id));
  assert.ok(!listed.stdout.includes(early.token) && !listed.stdout.includes(late.token), "no token is shown twice");

  const revoked = await runCommand(["token", "revoke", early.id, "--data-dir", place.dataDir]);
  assert.equal(revoked.code, 0, revoked.stderr);
  assert.equal(await statusOf(postMcp(server.url, listTools, early)), 401, "the very next request is refused");
  assert.equal(await statusOf(postMcp(server.url, listTools, late)), 200);
  assert.equal((await runCommand(["token", "revoke", early.id, "--data-dir", place.dataDir])).code, 1);
});

Deno.test("token create refuses unknown scopes and senseless lifetimes, and says what would do", async () => {
  await using place = await makeServerPlace();
  const cases: [string[], RegExp][] = [
    [["--scope", "files:everything"], /--scope .*files:read/],
    [["--scope", ""], /--scope/],
    [["--scope", "files:read", "--ttl", "0"], /--ttl/],
    [["--scope", "files:read", "--ttl", "soon"], /--ttl/],
    [["--scope", "files:read", "--user", "nobody"], /--user/],
  ];
  for (const [args, expected] of cases) {
    const { code, stdout, stderr } = await runCommand(["token", "create", "--data-dir", place.dataDir, ...args]);
    assert.equal(code, 2, args.join(" "));
    assert.equal(stdout, "");
    assert.match(stderr, expected);
  }
});

Deno.test("a token without the scope gets 403 with every scope that is needed (RFC 6750 §3.1)", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  const { token } = await createToken(place.dataDir, "files:read");
  const response = await postMcp(server.url, toolCall("file_write", { filename: "a", content: "b" }), { token });
  assert.equal(response.status, 403);
  const challenge = response.headers.get("www-authenticate") ?? "";
  assert.match(challenge, /error="insufficient_scope"/);
  assert.match(challenge, /scope="[^"]*files:write[^"]*"/);
  assert.match(challenge, /resource_metadata="http/);
  await response.body?.cancel();
});

Deno.test("hash-password serves unattended starts: no set-up link, and the passphrase signs in", async () => {
  const hashed = await runCommand(["hash-password"], { stdin: `${ownerPassphrase}\n` });
  assert.equal(hashed.code, 0, hashed.stderr);
  assert.match(hashed.stdout, /^\$(argon2id\$v=19\$m=\d+,t=\d+|scrypt\$ln=\d+,r=\d+),p=\d+\$\S+\$\S+\n$/);
  assert.ok(!(hashed.stdout + hashed.stderr).includes(ownerPassphrase));
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { OWNER_PASSWORD_HASH: hashed.stdout.trim() } });
  assert.equal(server.setUpLink, null);
  assert.equal((await runCommand(["hash-password"], { stdin: "short\n" })).code, 1);
});

Deno.test("SIGTERM lets a call in flight finish and exits 0; SIGINT does the same for an idle server", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama", tokenMilliseconds: 30 }] });
  await using place = await makeServerPlace();
  const { token } = await createToken(place.dataDir, "llm:generate");
  const server = await startServer(place, { env: { OLLAMA_HOST: ollama.url } });
  const call = postMcp(server.url, toolCall("llm_generate", { prompt: "Tell me a story" }), { token });
  await ollama.until((requests) => requests.some(({ path }) => path === "/api/generate"));
  const stopped = server.stop("SIGTERM");
  const answer = await (await call).text();
  assert.ok(answer.includes('"isError":false'), answer);
  assert.equal((await stopped).code, 0);

  const idle = await startServer(place);
  assert.equal((await idle.stop("SIGINT")).code, 0);
});

inOneProcess.test("a second signal ends the server at once, whatever is in flight", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama", tokenMilliseconds: 2_000 }] });
  await using place = await makeServerPlace();
  const { token } = await createToken(place.dataDir, "llm:generate");
  const server = await startServer(place, { env: { OLLAMA_HOST: ollama.url, SHUTDOWN_TIMEOUT: "60" } });
  const call = postMcp(server.url, toolCall("llm_generate", { prompt: "Tell me a story" }), { token }).then(
    (response) => response.text(),
  ).catch(() => "cut off");
  await ollama.until((requests) => requests.some(({ path }) => path === "/api/generate"));
  const first = server.stop("SIGTERM");
  await waitForLog(server, "stopping");
  // One Ctrl-C may arrive as two signals, so that a second one counts only when some time has passed.
  const again = setInterval(() => void server.stop("SIGTERM"), 200);
  const status = await first;
  clearInterval(again);
  assert.notEqual(status.code, 0);
  assert.equal(await call, "cut off");
});

Deno.test("every call leaves one audit line, without contents or secrets", async () => {
  await using place = await makeServerPlace();
  const { token } = await createToken(place.dataDir, "files:read files:write");
  const server = await startServer(place);
  const secret = "the-content-nobody-should-log";
  await statusOf(
    postMcp(server.url, toolCall("file_write", { filename: "private-name.txt", content: secret }), { token }),
  );
  await statusOf(postMcp(server.url, toolCall("file_read", { filename: "../up" }), { token }));
  await statusOf(postMcp(server.url, toolCall("no_such_tool", {}), { token }));
  await statusOf(fetch(`${server.url}/mcp?access_token=${token}`, { method: "POST" }));
  await server.stop();
  const lines = server.stderr().split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  const audit = lines.filter(({ level, method }) => level === "audit" && method === "tools/call");
  assert.deepEqual(audit.map(({ tool, outcome }) => [tool, outcome]), [
    ["file_write", "ok"],
    ["file_read", "tool_error"],
    [null, "protocol_error"],
  ]);
  for (const line of audit) {
    assert.equal(line.subject, "owner");
    assert.equal(line.clientId, "portcullis-cli");
    assert.ok(Number.isFinite(line.durationMs) && line.requestId !== "" && !Number.isNaN(Date.parse(line.time)));
  }
  assert.ok(!server.stderr().includes(secret) && !server.stderr().includes(token));
});

async function waitForLog(server: RunningServer, event: string): Promise<void> {
  await until(`the log's ${event}`, () => server.stderr().includes(`"event":"${event}"`));
}
