/** The official SDKs, in every mode that they have, use every feature of the protocol layer. */
import assert from "node:assert/strict";
import * as v2 from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { startConformanceServer } from "../conformance/server.ts";
import { until } from "../fixtures/until.ts";

interface Content {
  readonly type: string;
  readonly text?: string;
}

/** One client, reduced to what the story needs. */
interface Driver {
  connect(): Promise<void>;
  tools(): Promise<string[]>;
  call(name: string, args?: Record<string, unknown>, onProgress?: (progress: number) => void): Promise<Content[]>;
  readText(uri: string): Promise<unknown>;
  prompt(name: string, args: Record<string, string>): Promise<unknown[]>;
  complete(prompt: string, argument: string, value: string): Promise<string[]>;
  /** How often it heard that the tools changed. */
  changes(): number;
  close(): Promise<void>;
}

const identity = { name: "interop", version: "1" };
const abilities = { elicitation: {}, sampling: {}, roots: {} };
const person = { action: "accept" as const, content: { username: "ada", email: "ada@example.com" } };
const model = { role: "assistant" as const, model: "test", content: { type: "text" as const, text: "Four" } };

function sdkV1(url: URL): Driver {
  const client = new Client(identity, { capabilities: abilities });
  let changes = 0;
  client.setRequestHandler(ElicitRequestSchema, () => person);
  client.setRequestHandler(CreateMessageRequestSchema, () => model);
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes++);
  client.setNotificationHandler(LoggingMessageNotificationSchema, () => {});
  return {
    connect: () => client.connect(new StreamableHTTPClientTransport(url)),
    tools: async () => (await client.listTools()).tools.map(({ name }: { name: string }) => name),
    call: async (name, args, onProgress) => {
      const options = onProgress === undefined
        ? {}
        : { onprogress: (each: { progress: number }) => onProgress(each.progress) };
      return (await client.callTool({ name, arguments: args ?? {} }, undefined, options)).content as Content[];
    },
    readText: async (uri) => (await client.readResource({ uri })).contents[0],
    prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })).messages,
    complete: async (name, argument, value) =>
      (await client.complete({ ref: { type: "ref/prompt", name }, argument: { name: argument, value } })).completion
        .values,
    changes: () => changes,
    close: () => client.close(),
  };
}

function sdkV2(mode: v2.VersionNegotiationMode): (url: URL) => Driver {
  return (url) => {
    let changes = 0;
    const client = new v2.Client(identity, {
      capabilities: abilities,
      versionNegotiation: { mode },
      listChanged: { tools: { onChanged: () => void changes++, autoRefresh: false, debounceMs: 0 } },
    });
    client.setRequestHandler("elicitation/create", () => person);
    client.setRequestHandler("sampling/createMessage", () => model);
    return {
      connect: () => client.connect(new v2.StreamableHTTPClientTransport(url)),
      tools: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: async (name, args, onProgress) => {
        const options = onProgress === undefined
          ? {}
          : { onprogress: (each: { progress: number }) => onProgress(each.progress) };
        return (await client.callTool({ name, arguments: args ?? {} }, options)).content as Content[];
      },
      readText: async (uri) => (await client.readResource({ uri })).contents[0],
      prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })).messages,
      complete: async (name, argument, value) =>
        (await client.complete({ ref: { type: "ref/prompt", name }, argument: { name: argument, value } })).completion
          .values,
      changes: () => changes,
      close: () => client.close(),
    };
  };
}

const clients: [string, (url: URL) => Driver][] = [
  ["SDK v1", sdkV1],
  ["SDK v2, legacy", sdkV2("legacy")],
  ["SDK v2, auto", sdkV2("auto")],
  ["SDK v2, pinned to 2026-07-28", sdkV2({ pin: "2026-07-28" })],
];

for (const [name, makeClient] of clients) {
  Deno.test(`${name}: tools, progress, questions, resources, prompts, completion, notices`, async () => {
    const server = startConformanceServer();
    const client = makeClient(new URL(server.url));
    try {
      await client.connect();
      assert.ok((await client.tools()).includes("test_simple_text"));
      assert.match((await client.call("test_simple_text"))[0]?.text ?? "", /simple text/);
      const steps: number[] = [];
      await client.call("test_tool_with_progress", {}, (progress) => void steps.push(progress));
      assert.deepEqual(steps, [0, 50, 100]);
      assert.match((await client.call("test_elicitation", { message: "Who?" }))[0]?.text ?? "", /ada@example\.com/);
      assert.match((await client.call("test_sampling", { prompt: "2+2?" }))[0]?.text ?? "", /Four/);
      assert.match(JSON.stringify(await client.readText("test://template/42/data")), /42/);
      assert.match(
        JSON.stringify(await client.prompt("test_prompt_with_arguments", { arg1: "one", arg2: "two" })),
        /one.*two/,
      );
      assert.deepEqual(await client.complete("test_prompt_with_arguments", "arg1", "test"), [
        "test-value-1",
        "test-value-2",
      ]);
      await until("a notice of changed tools", async () => {
        await client.call("test_trigger_tool_change"); // its stream of notices may still be opening
        return client.changes() > 0;
      });
    } finally {
      await client.close();
      await server.close();
    }
  });
}
