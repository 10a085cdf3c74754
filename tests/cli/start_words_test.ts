/** What the console says about parts that the server does without. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { freePort } from "../fixtures/free_port.ts";
import { ownMounts, withMounts } from "../fixtures/own_mounts.ts";
import { cleanEnvironment } from "../fixtures/forms/server_process.ts";
import { makeServerPlace, runCommand, serverFlags, spawnServer, startServer } from "../fixtures/running_server.ts";
import { atTerminal, openTerminal } from "../fixtures/terminal.ts";
import { until } from "../fixtures/until.ts";

const inOneProcess = needing("one process");

inOneProcess.test("the start says on one line that Ollama and ServiceNow's other settings are missing", async () => {
  await using place = await makeServerPlace();
  const origin = `http://127.0.0.1:${freePort()}`;
  await using server = await startServer(place, {
    env: {
      OLLAMA_HOST: origin,
      SERVICENOW_INSTANCE: "https://dev1.service-now.com",
    },
  });
  const lines = server.stderr().split("\n").filter((line) => line.startsWith("  without "));
  assert.deepEqual(lines, [
    `  without     local models: Ollama is not running at ${origin}; start it with \`ollama serve\` or set OLLAMA_HOST; ` +
    "ServiceNow: SERVICENOW_CLIENT_ID and SERVICENOW_CLIENT_SECRET are missing",
  ]);
});

for (
  const [asked, level] of [[{}, "warn"], [{ LOG_LEVEL: "info" }, "info"], [{ LOG_FORMAT: "json" }, "info"]] as const
) {
  Deno.test({
    ...atTerminal(`on a terminal the log begins at ${level} with ${JSON.stringify(asked)}`),
    fn: async () => {
      await using place = await makeServerPlace();
      const env = {
        ...{ ...cleanEnvironment(), ...asked, DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir, PORT: "0" },
        ...{ SERVER_URL: "https://mcp.example.com", REGISTRATION: "off" },
      };
      const words = [
        Deno.execPath(),
        "run",
        ...serverFlags,
        fileURLToPath(new URL("../../main.ts", import.meta.url)),
        "serve",
      ];
      await using terminal = openTerminal(words, env);
      await until("the welcome", () => terminal.text().includes("Waiting for your first connection"));
      await until("the warning", () => terminal.text().includes("proxy_not_trusted"));
      assert.equal(terminal.text().includes("workspace_confinement"), level === "info", terminal.text());
    },
  });
}

/** Has this list of models, or where it is none answers every request with it; `null`: accepts, and says nothing. */
function startAnswering(
  answer: Response | null,
): { readonly origin: string; stop(): Promise<void> } {
  const held = Promise.withResolvers<Response>();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    ({ url }) => {
      const isOllama = answer?.headers.get("content-type") === "application/json";
      if (isOllama && url.endsWith("/api/version")) return Response.json({ version: "0.12.0" });
      return isOllama && url.endsWith("/api/ps") ? Response.json({ models: [] }) : answer?.clone() ?? held.promise;
    },
  );
  const stop = async (): Promise<void> => {
    held.resolve(new Response());
    await server.shutdown();
  };
  return { origin: `http://127.0.0.1:${server.addr.port}`, stop };
}

const unusable: readonly (readonly [what: string, answer: Response | null, words: string])[] = [
  [
    "fails",
    new Response("oops", { status: 500 }),
    "Ollama at ORIGIN answered with status 500. See its log",
  ],
  ["hangs", null, "Ollama does not answer at ORIGIN"],
  ["is another program", new Response("<p>{}"), "What answers at ORIGIN is not Ollama's API; correct OLLAMA_HOST"],
  ["has no model", Response.json({ models: [] }), "no model is installed; `ollama pull tinyllama`"],
  [
    "has models of its cloud alone",
    Response.json({ models: [{ name: "gpt-oss:120b-cloud", remote_host: "https://ollama.com" }] }),
    "the models run on another machine, where files would go; name those that agents may use in LLM_MODELS",
  ],
];

for (const [what, answer, words] of unusable) {
  inOneProcess.test(`the start claims no models of an Ollama that ${what}, and says what to do`, async () => {
    const { origin, stop } = startAnswering(answer);
    await using place = await makeServerPlace();
    const server = await startServer(place, { env: { OLLAMA_HOST: origin } });
    await server.stop();
    await stop();
    assert.doesNotMatch(server.stderr(), /^ {2}models/m);
    assert.ok(
      server.stderr().includes(
        `  without     local models: ${words.replace("ORIGIN", origin)}\n`,
      ),
      server.stderr(),
    );
  });
}

inOneProcess.test("the start names the models that agents may use, and of LLM_MODELS what is missing", async () => {
  const names = ["llama3.2:latest", "nomic-embed-text:latest", "big:70b"];
  const { origin, stop } = startAnswering(
    Response.json({ models: names.map((name, size) => ({ name, size: size + 1 })) }),
  );
  await using place = await makeServerPlace();
  const said: string[] = [];
  for (const LLM_MODELS of ["", "llama3.2,phi3", "phi3"]) {
    const server = await startServer(place, { env: { OLLAMA_HOST: origin, LLM_MODELS } });
    await server.stop();
    said.push(server.stderr());
  }
  await stop();
  assert.match(said[0] ?? "", /^ {2}models {6}llama3\.2, big:70b$/m);
  assert.doesNotMatch(said[0] ?? "", /local models:/);
  assert.match(said[1] ?? "", /^ {2}models {6}llama3\.2$/m);
  assert.match(said[1] ?? "", /local models: phi3 is not installed; `ollama pull phi3`/);
  assert.match(said[2] ?? "", /local models: phi3 is not installed; set LLM_MODELS=llama3\.2,big:70b to use what is/);
});

inOneProcess.test("the start says that the workspace can only be read, by its modes or its mount", async () => {
  await using place = await makeServerPlace();
  const launcher = ownMounts === null ? [] : withMounts(
    `mount -t tmpfs none ${place.workspaceDir}; mount -o remount,ro ${place.workspaceDir}`,
  );
  await Deno.mkdir(place.workspaceDir, { recursive: true });
  if (launcher.length === 0 && Deno.uid() === 0) return;
  if (launcher.length === 0) await Deno.chmod(place.workspaceDir, 0o500);
  const server = await startServer(place, { launcher });
  await server.stop();
  await Deno.chmod(place.workspaceDir, 0o700);
  assert.match(
    server.stderr(),
    /^ {2}without {5}changing files: this user cannot write to \//m,
  );
});

inOneProcess.test("the start prints the address that it listens on beside SERVER_URL, and a second one names the first", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place, {
    env: { SERVER_URL: "https://mcp.example.com", REGISTRATION: "off" },
  });
  assert.equal(server.stdout(), "portcullis listening on https://mcp.example.com\n");
  const [, port = ""] = /^ {2}address {5}https:\/\/mcp\.example\.com, listening on http:\/\/127\.0\.0\.1:(\d+)$/m
    .exec(server.stderr()) ?? [];
  const data = ["--data-dir", place.dataDir, "--workspace", place.workspaceDir];
  const second = await runCommand(["serve", "--port", port, ...data]);
  assert.equal(second.code, 1);
  assert.match(
    second.stderr,
    /^error: cannot listen on 127\.0\.0\.1 port \d+: a Portcullis server already runs there\nhint: use it, stop it/m,
  );
  const { origin, stop } = startAnswering(new Response("theirs"));
  const foreign = await runCommand([
    "serve",
    "--port",
    new URL(origin).port,
    ...data,
  ]);
  await stop();
  assert.match(
    foreign.stderr,
    /^error: cannot listen on .*another program listens there$/m,
  );
});

Deno.test("stdio warns of a ServiceNow instance whose other settings are missing", async () => {
  await using place = await makeServerPlace();
  const { code, stdout, stderr } = await runCommand(
    ["stdio", "--data-dir", place.dataDir, "--workspace", place.workspaceDir],
    { env: { SERVICENOW_INSTANCE: "https://dev1.service-now.com" } },
  );
  assert.deepEqual([code, stdout], [0, ""], stderr);
  assert.match(
    stderr,
    /servicenow_not_configured.*SERVICENOW_CLIENT_ID and SERVICENOW_CLIENT_SECRET are missing/,
  );
  assert.match(
    stderr,
    /Redirect URL http[^;]+\/servicenow\/callback; Public Client not ticked/,
  );
});

inOneProcess.test("standard output says that the server listens after the welcome, also where both share a pipe", async () => {
  await using place = await makeServerPlace();
  const server = spawnServer(place, {
    launcher: ["sh", "-c", 'exec "$@" 2>&1', "sh"],
    env: { OLLAMA_HOST: "127.0.0.1:1" },
  });
  let text = "";
  for await (
    const piece of server.stdout.pipeThrough(new TextDecoderStream())
  ) {
    text += piece;
    if (text.includes("listening on")) break;
  }
  server.kill("SIGTERM");
  await Promise.all([server.status, server.stderr.cancel()]);
  assert.match(
    text,
    /Open this link[^]*\n\nportcullis listening on http:.*\n$/,
  );
});
