/** The whole story of an agent on the command line, whose model is scripted: sign-in, tools, refresh, kill, removal. */
import assert from "node:assert/strict";
import { pause } from "../../src/lib/pause.ts";
import { freePort } from "../fixtures/free_port.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { type ScriptedModel, startScriptedModel } from "../fixtures/scripted_model.ts";
import { until } from "../fixtures/until.ts";
import { installFromNpm, type NpmClient } from "./npm_client.ts";

/** What differs between agents. */
export interface Agent {
  readonly packages: readonly string[];
  /** Points the agent at the server and the model; gives the environment that it needs. */
  configure(client: NpmClient, endpoint: string, model: ScriptedModel): Promise<void>;
  readonly environment: (model: ScriptedModel) => Readonly<Record<string, string>>;
  /** Command lines. */
  readonly signIn: string;
  readonly signOut: string;
  readonly ask: string;
  /** Whether it speaks 2026-07-28, where its end cancels its calls. */
  readonly isModern: boolean;
}

const accessTokenSeconds = 10;

/** Tells the story; throws at the first step that fails. */
export async function tellAgentStory(agent: Agent): Promise<void> {
  const words = "word ".repeat(60).trim();
  await using ollama = await startOllama({
    models: [{ name: "tinyllama", tokenMilliseconds: 10, answer: () => words }],
  });
  await using model = startScriptedModel();
  await using client = await installFromNpm(agent.packages, agent.environment(model));
  await using place = await makeServerPlace();
  const port = freePort();
  // Agents name themselves by the address of a document on the internet where they can; there may be none here.
  const env = {
    OLLAMA_HOST: ollama.url,
    CLIENT_METADATA_DOCUMENTS: "off",
    ACCESS_TOKEN_LIFETIME: String(accessTokenSeconds),
  };
  const start = () => startServer(place, { env, args: ["--port", String(port)] });
  let server = await start();
  /** Asks the agent, whose model asks for these calls; gives what it reported of them. */
  const ask = async (...calls: [tool: string, input: Record<string, unknown>][]): Promise<readonly string[]> => {
    model.play(calls.map(([tool, input]) => ({ tool, input })));
    const said = await client.shell(agent.ask);
    assert.equal(model.results.length, calls.length, `${said}\n${model.offered.join(" ")}\n${server.stderr()}`);
    return model.results;
  };
  try {
    const person = createPerson(server.url);
    await setUpOwner(person, server);
    await agent.configure(client, `${server.url}/mcp`, model);
    await client.signIn(agent.signIn, person);

    const [written, read, missing, spoken] = await ask(
      ["file_write", { filename: "notes/a.txt", content: "Grüße" }],
      ["file_read", { filename: "notes/a.txt" }],
      ["file_read", { filename: "nope.txt" }],
      ["llm_generate", { prompt: "Speak. ".repeat(200) }],
    );
    assert.doesNotMatch(written ?? "", /Failed/);
    assert.match(read ?? "", /Grüße/);
    assert.match(missing ?? "", /Failed to read file/);
    assert.ok(spoken?.includes(words), spoken);

    await pause((accessTokenSeconds + 1) * 1_000);
    assert.match((await ask(["file_read", { filename: "notes/a.txt" }])).join(), /Grüße/, "refreshed");

    await server.stop("SIGKILL");
    server = await start();
    assert.match((await ask(["file_read", { filename: "notes/a.txt" }])).join(), /Grüße/, "after kill -9");

    const letGo = ollama.hold();
    const generations = () => ollama.requests.filter(({ path }) => path === "/api/generate");
    const before = generations().length;
    model.play([{ tool: "llm_generate", input: { prompt: "Never mind. ".repeat(200) } }]);
    const asked = client.spawn(agent.ask);
    const said = new Response(asked.stdout).text();
    await until("the local model to be asked", () => generations().length > before);
    asked.kill("SIGINT"); // as Ctrl-C, to `timeout` and with it to the agent
    await asked.status;
    await said;
    if (agent.isModern) await until("the local model to be free", () => generations().at(-1)?.outcome === "aborted");
    letGo();

    const listed = await runCommand(["clients", "list", "--data-dir", place.dataDir]);
    for (const [, id = ""] of listed.stdout.matchAll(/^(\S+)/gm)) {
      assert.equal((await runCommand(["clients", "remove", id, "--data-dir", place.dataDir])).code, 0);
    }
    model.play([{ tool: "file_read", input: { filename: "notes/a.txt" } }]);
    await client.shell(agent.ask);
    assert.doesNotMatch(model.results.join(), /Grüße/, "a client that the owner removed gets nothing");
    await client.shell(agent.signOut);
    await client.signIn(agent.signIn, person);
    assert.match((await ask(["file_read", { filename: "notes/a.txt" }])).join(), /Grüße/, "signed in again");
  } finally {
    await server.stop();
  }
}
