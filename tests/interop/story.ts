/**
 * The whole story of a client with the started product: find it, register, sign in, tools, files, an error, a long
 * answer, an image, progress, a cancelled call, an expired token, `kill -9` and a new start, removal by the owner, and
 * back again. What a client cannot do is left out ({@link Traits}).
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import process from "node:process";
import { pause } from "../../src/lib/time.ts";
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
  /** The image's bytes in base64, where the answer is one. */
  readonly image?: string | undefined;
}

/** How a tool is called. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: () => void;
}

/** A client, reduced to the story. */
export interface StoryClient {
  /** Connects, by way of registration and sign-in where it has to. */
  connect(): Promise<void>;
  tools(): Promise<readonly string[]>;
  call(name: string, input: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<ToolAnswer>;
  close(): Promise<void>;
}

/** What a client is made of. */
export interface StoryPlace {
  readonly endpoint: URL;
  /** The person who signs in. */
  readonly person: Person;
  /** Runs one of the owner's commands beside the server; gives what it printed. */
  administer(...command: string[]): Promise<string>;
}

/** Makes a client for the story's server. */
export type MakeClient = (place: StoryPlace) => StoryClient;

/** What a client can do; everything unless it says otherwise. */
export interface Traits {
  /** Its texts arrive whole and exact, however long. */
  readonly exactText?: boolean;
  readonly images?: boolean;
  readonly progress?: boolean;
  /** A call that it gives up is cancelled at the server. */
  readonly cancels?: boolean;
  readonly refreshes?: boolean;
  /** It makes a call while another one runs. */
  readonly overlaps?: boolean;
  /** Connecting again after its removal is enough for it to sign in again. */
  readonly returns?: boolean;
  /** Further settings of the server. */
  readonly settings?: Readonly<Record<string, string>>;
  /** How long an access token lasts: longer than a client takes for a few calls. */
  readonly accessTokenSeconds?: number;
}

const longText = "grüße ☃\n".repeat(40_000);
const shortText = "grüße ☃";
const wholeText = { filename: "notes/a.txt", max_bytes: 1_048_576 };
const shownCharacters = 2_000;
const unexpiringSeconds = 3_600;
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";

/** Tells the story; throws at the first step that fails. */
export async function tellStory(make: MakeClient, traits: Traits = {}): Promise<void> {
  const { exactText = true, images = true, progress = true, cancels = true, refreshes = true, returns = true } = traits;
  const { accessTokenSeconds = 4, overlaps = true } = traits;
  const text = exactText ? longText : shortText;
  const assertText = async (answer: Promise<ToolAnswer>, expected: string): Promise<void> => {
    const { isError, text } = await answer;
    assert.equal(isError, false, text);
    assert.ok(exactText ? text === expected : text.includes(expected), `${text.slice(0, 200)} (${text.length})`);
  };
  const words = "word ".repeat(60).trim();
  await using ollama = await startOllama({
    models: [{ name: "tinyllama", tokenMilliseconds: 10, answer: () => words }],
  });
  await using place = await makeServerPlace();
  const port = freePort();
  // Some clients name themselves by the address of a document on the internet: there may be none here.
  const env = {
    OLLAMA_HOST: ollama.url,
    CLIENT_METADATA_DOCUMENTS: "off",
    ACCESS_TOKEN_LIFETIME: String(refreshes ? accessTokenSeconds : unexpiringSeconds),
    ...traits.settings,
  };
  const start = () => startServer(place, { env: { COMPATIBILITY: "auto", ...env }, args: ["--port", String(port)] });
  const administer = async (...command: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCommand([...command, "--data-dir", place.dataDir]);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  let server = await start();
  let client: StoryClient | undefined;
  try {
    const person = createPerson(server.url);
    await setUpOwner(person, server);
    const made = make({ endpoint: new URL(`${server.url}/mcp`), person, administer });
    client = made;
    const call: StoryClient["call"] = (name, input, options) => made.call(name, input, options);
    await client.connect();
    const tools = new Set(await client.tools()); // asked once: a list may be kept for a minute
    for (const name of ["file_list", "file_read", "file_write", "llm_generate"]) assert.ok(tools.has(name), name);

    assert.equal((await call("file_write", { filename: "notes/a.txt", content: text })).isError, false);
    await assertText(call("file_read", wholeText), text);
    const missing = await call("file_read", { filename: "nope.txt" });
    assert.ok(missing.isError);
    assert.match(missing.text, /Failed to read file: /);
    if (images) {
      await Deno.writeFile(`${place.workspaceDir}/pixel.png`, Buffer.from(pixel, "base64"));
      assert.equal((await call("file_read", { filename: "pixel.png" })).image, pixel);
    }
    let notices = 0;
    const onProgress = () => void notices++;
    await assertText(call("llm_generate", { prompt: "Speak. ".repeat(200) }, progress ? { onProgress } : {}), words);
    if (progress) assert.ok(notices > 0, "progress was reported");

    const generations = () => ollama.requests.filter(({ path }) => path === "/api/generate");
    if (cancels) {
      const letGo = ollama.hold();
      const before = generations().length;
      const controller = new AbortController();
      const cancelled = call("llm_generate", { prompt: "Never mind. ".repeat(200) }, { signal: controller.signal });
      await until("the model to be asked", () => generations().length > before);
      controller.abort();
      await assert.rejects(cancelled);
      await until("the model to be free", () => generations().at(-1)?.outcome === "aborted");
      letGo();
    }

    if (refreshes) {
      const letGo = overlaps ? ollama.hold() : () => {};
      const before = generations().length;
      const outlasting = overlaps ? call("llm_generate", { prompt: "Go on. ".repeat(200) }) : null;
      if (overlaps) await until("the model to be asked again", () => generations().length > before);
      await pause((accessTokenSeconds + 1) * 1_000);
      assert.equal((await call("file_list", {})).isError, false, "the expired token was refreshed");
      letGo();
      if (outlasting !== null) await assertText(outlasting, words);
    }

    await server.stop("SIGKILL");
    server = await start();
    await until("an answer of the new process", () => call("file_list", {}).then(() => true, () => false));
    await assertText(call("file_read", wholeText), text);

    const listed = await administer("clients", "list");
    for (const [, id = ""] of listed.matchAll(/^(\S+)/gm)) await administer("clients", "remove", id);
    await assert.rejects(call("file_list", {}), "a client that the owner removed gets nothing");
    if (!returns) return;
    await client.close().catch(() => {});
    await client.connect();
    assert.equal((await call("file_list", {})).isError, false, "it registered and signed in again");
  } catch (error) {
    process.stderr.write(server.stderr().slice(-shownCharacters)); // what the server says of it
    throw error;
  } finally {
    await client?.close().catch(() => {});
    await server.stop();
  }
}
