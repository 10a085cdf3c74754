/**
 * The whole story of a client with the started product: find it, register, sign in, tools, files, an error, a long
 * answer, a cancelled call, an expired token, `kill -9` and a new start, removal by the owner, and back again.
 */
import assert from "node:assert/strict";
import { pause } from "../../src/lib/pause.ts";
import { freePort } from "../fixtures/free_port.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { setUpOwner } from "../fixtures/owner.ts";
import { createPerson, type Person } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

/** What a tool answered. */
export interface ToolAnswer {
  readonly isError: boolean;
  readonly text: string;
}

/** A client library, reduced to the story. */
export interface StoryClient {
  /** Connects, by way of registration and sign-in where it has to. */
  connect(): Promise<void>;
  tools(): Promise<readonly string[]>;
  call(name: string, input: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<ToolAnswer>;
  close(): Promise<void>;
}

/** Makes a client for an endpoint, with the person who signs in. */
export type MakeClient = (endpoint: URL, person: Person) => StoryClient;

const accessTokenSeconds = 4;
const longText = "grüße ☃\n".repeat(40_000);

/** Tells the story; throws at the first step that fails. */
export async function tellStory(make: MakeClient): Promise<void> {
  const words = "word ".repeat(60).trim();
  await using ollama = await startOllama({
    models: [{ name: "tinyllama", tokenMilliseconds: 10, answer: () => words }],
  });
  await using place = await makeServerPlace();
  const port = freePort();
  const start = () =>
    startServer(place, {
      env: { OLLAMA_HOST: ollama.url, ACCESS_TOKEN_LIFETIME: String(accessTokenSeconds) },
      args: ["--port", String(port)],
    });
  let server = await start();
  try {
    const person = createPerson(server.url);
    await setUpOwner(person, server);
    const client = make(new URL(`${server.url}/mcp`), person);
    await client.connect();
    const tools = new Set(await client.tools()); // asked once: a list may be kept for a minute
    for (const name of ["file_list", "file_read", "file_write", "llm_generate"]) assert.ok(tools.has(name), name);

    assert.equal((await client.call("file_write", { filename: "notes/long.txt", content: longText })).isError, false);
    assert.equal((await client.call("file_read", { filename: "notes/long.txt" })).text, longText);
    const missing = await client.call("file_read", { filename: "nope.txt" });
    assert.ok(missing.isError);
    assert.match(missing.text, /^Failed to read file: /);
    assert.equal((await client.call("llm_generate", { prompt: "Speak. ".repeat(200) })).text, words);

    const letGo = ollama.hold();
    const generations = () => ollama.requests.filter(({ path }) => path === "/api/generate");
    const before = generations().length;
    const controller = new AbortController();
    const cancelled = client.call("llm_generate", { prompt: "Never mind. ".repeat(200) }, controller.signal);
    await until("the model to be asked", () => generations().length > before);
    controller.abort();
    await assert.rejects(cancelled);
    await until("the model to be free", () => generations().at(-1)?.outcome === "aborted");
    letGo();

    await pause((accessTokenSeconds + 1) * 1_000);
    assert.equal((await client.call("file_list", {})).isError, false, "the expired token was refreshed");

    await server.stop("SIGKILL");
    server = await start();
    await until("an answer of the new process", () => client.call("file_list", {}).then(() => true, () => false));
    assert.equal((await client.call("file_read", { filename: "notes/long.txt" })).text, longText);

    const listed = await runCommand(["clients", "list", "--data-dir", place.dataDir]);
    const id = /^(\S+)/m.exec(listed.stdout)?.[1] ?? assert.fail(listed.stdout);
    const removed = await runCommand(["clients", "remove", id, "--data-dir", place.dataDir]);
    assert.equal(removed.code, 0, removed.stderr);
    await assert.rejects(client.call("file_list", {}), "a client that the owner removed gets nothing");
    await client.close().catch(() => {});
    await client.connect();
    assert.equal((await client.call("file_list", {})).isError, false, "it registered and signed in again");
    await client.close();
  } finally {
    await server.stop();
  }
}
