/** `stdio` over pipes in this process, with tools that tell when they run, wait and are ended. */
import assert from "node:assert/strict";
import { z } from "zod";
import { createMemoryStorage } from "../mcp/memory_storage.ts";
import { createJsonLog } from "../../src/lib/log.ts";
import { createSecretBox } from "../../src/lib/secrets.ts";
import { createMcpServer } from "../../src/mcp/mcp_server.ts";
import { defineTool, type Tool } from "../../src/mcp/tool.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { serveStdio, type StdioOptions } from "../../src/mcp/serve_stdio.ts";

/** A served client. */
export interface StdioClient extends AsyncDisposable {
  /** Sends one message, or text as it is. */
  send(message: unknown): Promise<void>;
  /** The next line of the output, parsed. */
  receive(): Promise<Record<string, unknown>>;
  /** Ends the input; gives every message that still came. */
  end(): Promise<Record<string, unknown>[]>;
  readonly stop: AbortController;
  /** Resolves when the server is done. */
  readonly served: Promise<void>;
  /** What the waiting tool saw: `started`, `ended`. */
  readonly seen: string[];
  /** Resolves when the server has seen the end of the input. */
  readonly inputEnded: Promise<void>;
  /** Lets the waiting tool finish. */
  release(): void;
  /** Gives the server one tool more. */
  addTool(): void;
}

/** Serves one client. */
export function startStdio(changes: Partial<StdioOptions> = {}, storage = createMemoryStorage()): StdioClient {
  const [input, output] = [
    new TransformStream<Uint8Array, Uint8Array>(),
    new TransformStream<Uint8Array, Uint8Array>(),
  ];
  const stop = new AbortController();
  const gate = Promise.withResolvers<void>();
  const inputEnded = Promise.withResolvers<void>();
  const seen: string[] = [];
  const log = createJsonLog({ write: () => {}, level: "error", clock: () => Date.now() });
  const tools = createToolRegistry([echo, waitTool(gate.promise, seen)]);
  const mcp = createMcpServer({
    tools,
    serverInfo: { name: "portcullis", title: "Portcullis", version: "0.0.0" },
    instructions: () => "",
    admit: () => ({ ok: true }),
    audit: () => {},
    log,
    secretBox: createSecretBox(new Uint8Array(32)),
    storage,
    toolTimeoutMs: 60_000,
  });
  const served = serveStdio({
    mcp: {
      ...mcp,
      async openStream(exchange) {
        await new Promise((resolve) => setTimeout(resolve, 20)); // as on a busy machine
        return await mcp.openStream(exchange);
      },
      drain() {
        inputEnded.resolve();
        mcp.drain();
      },
    },
    input: input.readable,
    output: output.writable,
    principal: {
      subject: "owner",
      clientId: "stdio",
      grantId: "stdio",
      tokenId: "stdio",
      keyId: null,
      scopes: new Set(["files:read"]),
      expiresAt: Number.MAX_SAFE_INTEGER,
    },
    createRequestId: () => crypto.randomUUID(),
    log,
    stop: stop.signal,
    maxLineBytes: 10_000,
    maxInFlight: 3,
    finishTimeoutMs: 600_000,
    ...changes,
  });
  const writer = input.writable.getWriter();
  const lines = linesOf(output.readable);
  const encoder = new TextEncoder();
  const receive = async (): Promise<Record<string, unknown>> => {
    const { value, done } = await lines.next();
    assert.ok(!done, "the output ended");
    return JSON.parse(value);
  };
  return {
    send: (message) =>
      writer.write(encoder.encode(typeof message === "string" ? message : `${JSON.stringify(message)}\n`)),
    receive,
    async end() {
      await writer.close();
      const rest: Record<string, unknown>[] = [];
      for await (const line of lines) rest.push(JSON.parse(line));
      await served;
      return rest;
    },
    stop,
    served,
    seen,
    inputEnded: inputEnded.promise,
    release: gate.resolve,
    addTool: () => tools.add({ ...echo, name: "echo_too" }),
    async [Symbol.asyncDispose]() {
      stop.abort();
      gate.resolve();
      await served;
      await lines.return(undefined);
    },
  };
}

const echo: Tool = defineTool({
  name: "echo",
  title: "Echo",
  description: "Answers with the text it was given.",
  scopes: ["files:read"],
  annotations: { readOnlyHint: true },
  input: z.object({ text: z.string() }),
  run: ({ text }) => ({ ok: true, content: [{ type: "text", text }] }),
});

function waitTool(released: Promise<void>, seen: string[]): Tool {
  return defineTool({
    name: "wait",
    title: "Wait",
    description: "Waits until it is released or ended.",
    scopes: ["files:read"],
    annotations: { readOnlyHint: true },
    input: z.object({}),
    run: async (_input, { signal }) => {
      seen.push("started");
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => resolve(), { once: true });
      await Promise.race([released, ended]);
      seen.push(signal.aborted ? "ended" : "released");
      return { ok: true, content: [{ type: "text", text: "waited" }] };
    },
  });
}

async function* linesOf(output: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  let text = "";
  for await (const chunk of output.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    yield* lines;
  }
  assert.equal(text, "", "the output ended within a line");
}
