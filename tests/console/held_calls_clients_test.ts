/** Held calls as real clients see them: every official SDK in every mode, with and without the ability to open pages. */
import assert from "node:assert/strict";
import * as v2 from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { modernRequest, postMcp } from "../fixtures/mcp_call.ts";
import { openSignedIn } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { until } from "../fixtures/until.ts";
import { type Desk, fileIn, isThere, startDesk } from "./desk.ts";

/** What a client was asked to show to its person. */
interface Asked {
  readonly mode?: string;
  readonly url?: string;
}

interface Outcome {
  readonly isError?: boolean;
  readonly content: readonly { readonly text?: string }[];
}

interface Driver {
  call(input: Record<string, unknown>): Promise<Outcome>;
  close(): Promise<void>;
}

type Abilities = Readonly<Record<string, Readonly<Record<string, object>>>>;
type Answer = (params: Asked) => { action: "accept" | "decline" | "cancel" };
type Connect = (desk: Desk, abilities: Abilities, answer: Answer) => Promise<Driver>;

const identity = { name: "held", version: "1" };
const endpoint = (desk: Desk): URL => new URL(`${desk.server.url}/mcp`);
const withToken = ({ token }: Desk) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });

const sdkV1: Connect = async (desk, capabilities, answer) => {
  const client = new Client(identity, { capabilities });
  if ("elicitation" in capabilities) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }: { params: unknown }) => answer(params as Asked));
  }
  await client.connect(new StreamableHTTPClientTransport(endpoint(desk), withToken(desk)));
  return {
    call: async (input) => await client.callTool({ name: "file_write", arguments: input }) as Outcome,
    close: () => client.close(),
  };
};

const sdkV2 = (mode: v2.VersionNegotiationMode): Connect => async (desk, capabilities, answer) => {
  const client = new v2.Client(identity, { capabilities, versionNegotiation: { mode } });
  if ("elicitation" in capabilities) {
    client.setRequestHandler("elicitation/create", ({ params }: { params: unknown }) => answer(params as Asked));
  }
  await client.connect(new v2.StreamableHTTPClientTransport(endpoint(desk), withToken(desk)));
  return {
    call: async (input) => await client.callTool({ name: "file_write", arguments: input }) as Outcome,
    close: () => client.close(),
  };
};

const clients: Readonly<Record<string, Connect>> = {
  "SDK v1": sdkV1,
  "SDK v2, legacy": sdkV2("legacy"),
  "SDK v2, auto": sdkV2("auto"),
  "SDK v2, 2026-07-28": sdkV2({ pin: "2026-07-28" }),
};

const plain: readonly Abilities[] = [{}, { elicitation: {} }, { elicitation: { form: {} } }];
const opensPages: Abilities = { elicitation: { url: {} } };
const accept: Answer = () => ({ action: "accept" });
const unasked: Answer = () => assert.fail("a form could approve what only the page may");

for (const [name, connect] of Object.entries(clients)) {
  Deno.test(`${name}: a call waits for the decision on the page, whatever else the client can show`, async () => {
    await using desk = await startDesk();
    await desk.rule({ tool: "file_write", verdict: "ask" });
    for (const [index, abilities] of plain.entries()) {
      const filename = `waits-${index}.txt`;
      const client = await connect(desk, abilities, unasked);
      const waiting = client.call({ filename, content: "x" });
      await desk.decide(index === 1 ? "deny" : "approve", { word: "Not there" });
      const { isError, content } = await waiting;
      assert.equal(isError === true, index === 1, JSON.stringify(content));
      if (index === 1) assert.match(JSON.stringify(content), /Not there/);
      assert.equal(await isThere(desk, filename), index !== 1);
      await client.close();
    }
  });

  Deno.test(`${name}: a client that can wait no longer is told to come again, and does`, async () => {
    await using desk = await startDesk({ patienceMs: 0 });
    await desk.rule({ tool: "file_write", verdict: "ask" });
    const client = await connect(desk, {}, unasked);
    const input = { filename: "later.txt", content: "x" };
    const first = await client.call(input);
    assert.equal(first.isError, true);
    assert.match(JSON.stringify(first.content), /call again with these same arguments/);
    await desk.decide("approve");
    assert.notEqual((await client.call(input)).isError, true);
    assert.equal(await fileIn(desk, "later.txt"), "x");
    await client.close();
  });

  Deno.test(`${name}: a client that opens pages is sent to the decision; to close the page does nothing`, async () => {
    await using desk = await startDesk({ leastReadingMs: 0 });
    await desk.rule({ tool: "file_write", verdict: "ask" });
    const asked: Asked[] = [];
    const accepting = await connect(desk, opensPages, (params) => {
      asked.push(params);
      return accept(params);
    });
    const waiting = accepting.call({ filename: "page.txt", content: "x" });
    const { mode, url = "" } = await until("the client is asked", () => asked[0]);
    assert.equal(mode, "url");
    await until("the page shows the call", async () => (await openSignedIn(desk.owner, url)).html.includes("<article"));
    const page = await openSignedIn(desk.owner, url);
    assert.equal(await isThere(desk, "page.txt"), false);
    await desk.owner.submit(page, { decision: "approve" }, 'value="decide"');
    const done = await waiting;
    assert.notEqual(done.isError, true, JSON.stringify(done));
    assert.equal(await fileIn(desk, "page.txt"), "x");
    await accepting.close();

    const declining = await connect(desk, opensPages, () => ({ action: "decline" }));
    const { isError, content } = await declining.call({ filename: "closed.txt", content: "x" });
    assert.equal(isError, true);
    assert.match(JSON.stringify(content), /waits for a person/);
    assert.equal(await isThere(desk, "closed.txt"), false);
    await declining.close();
  });

  Deno.test(`${name}: a client that says no before a person can have read it holds nothing up`, async () => {
    await using desk = await startDesk({ leastReadingMs: 60_000 });
    await desk.rule({ tool: "file_write", verdict: "ask" });
    for (const action of ["decline", "cancel"] as const) {
      let isAsked = false;
      const alone = await connect(desk, opensPages, () => {
        isAsked = true;
        return { action };
      });
      const waiting = alone.call({ filename: `${action}.txt`, content: "x" });
      await until("it has said no", () => isAsked);
      await desk.decide("approve");
      const { isError, content } = await waiting;
      assert.notEqual(isError, true, JSON.stringify(content));
      assert.equal(await fileIn(desk, `${action}.txt`), "x");
      await alone.close();
    }
  });
}

interface Task {
  readonly resultType: string;
  readonly taskId: string;
  readonly status: string;
  readonly statusMessage?: string;
  readonly inputRequests?: Readonly<Record<string, { readonly params: Asked }>>;
  readonly result?: Outcome;
}

const tasksAbility = { extensions: { "io.modelcontextprotocol/tasks": {} } };

async function modern(
  { server, token }: Desk,
  method: string,
  params: Record<string, unknown>,
  capabilities: Record<string, unknown> = tasksAbility,
): Promise<Task> {
  const { message, headers } = modernRequest(method, params, capabilities);
  return (await (await postMcp(server.url, message, { token, headers })).json()).result;
}

const write = (filename: string) => ({ name: "file_write", arguments: { filename, content: "x" } });

Deno.test("a client with tasks gets one, which waits longer than a call would, and ends with the decision", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await desk.rule({ tool: "file_write", verdict: "ask" });
  for (const [decision, isError] of [["approve", false], ["deny", true]] as const) {
    const begun = await modern(desk, "tools/call", write(`${decision}.txt`));
    assert.equal(begun.resultType, "task");
    const { taskId } = begun;
    const waiting = await until("the task says what it waits for", async () => {
      const task = await modern(desk, "tasks/get", { taskId });
      return task.statusMessage === undefined ? null : task;
    });
    assert.equal(waiting.status, "working");
    assert.match(waiting.statusMessage ?? "", /Waiting for approval at http/);
    await desk.decide(decision);
    const ended = await until("the task ends", async () => {
      const task = await modern(desk, "tasks/get", { taskId });
      return task.status === "completed" ? task : null;
    });
    assert.equal(ended.result?.isError, isError, JSON.stringify(ended));
    assert.equal(await isThere(desk, `${decision}.txt`), !isError);
  }
});

Deno.test("a task of a client that opens pages asks for the page, and waits for the decision after it", async () => {
  await using desk = await startDesk();
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const both = { ...tasksAbility, ...opensPages };
  const { taskId } = await modern(desk, "tools/call", write("task.txt"), both);
  const asking = await until("the task asks", async () => {
    const task = await modern(desk, "tasks/get", { taskId }, both);
    return task.status === "input_required" ? task : null;
  });
  const [[key = "", request] = []] = Object.entries(asking.inputRequests ?? {});
  assert.equal(request?.params.mode, "url");
  await modern(desk, "tasks/update", { taskId, inputResponses: { [key]: { action: "accept" } } }, both);
  assert.equal(await isThere(desk, "task.txt"), false);
  await desk.decide("approve");
  await until("the task ends", async () => (await modern(desk, "tasks/get", { taskId }, both)).status === "completed");
  assert.equal(await fileIn(desk, "task.txt"), "x");
});

Deno.test("a task that is done gives nothing while calls are stopped, and its result once they run again", async () => {
  await using desk = await startDesk();
  await Deno.writeTextFile(`${desk.place.workspaceDir}/kept.txt`, "what was read");
  await desk.rule({ tool: "file_read", verdict: "ask" });
  const { taskId } = await modern(desk, "tools/call", { name: "file_read", arguments: { filename: "kept.txt" } });
  await desk.decide("approve");
  const read = async (): Promise<string> => {
    const { message, headers } = modernRequest("tasks/get", { taskId }, tasksAbility);
    return await (await postMcp(desk.server.url, message, { token: desk.token, headers })).text();
  };
  await until("the task ends", async () => (await read()).includes("what was read"));
  await desk.owner.submit(await desk.page("activity"), {}, 'value="stop"');
  assert.match(await read(), /^(?!.*what was read).*stopped all calls/);
  await desk.owner.submit(await desk.page("activity"), {}, 'value="start"');
  assert.match(await read(), /what was read/);
});

Deno.test("a task that is cancelled while it waits does nothing, though it is approved", async () => {
  await using desk = await startDesk();
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const { taskId } = await modern(desk, "tools/call", write("cancelled.txt"));
  const shown = await until("the call waits", async () => {
    const page = await desk.page("decisions");
    return page.html.includes("cancelled.txt") ? page : null;
  });
  await modern(desk, "tasks/cancel", { taskId });
  await desk.owner.submit(shown, { decision: "approve" }, 'value="decide"');
  await until("the task ends", async () => (await modern(desk, "tasks/get", { taskId })).status === "cancelled");
  assert.equal(await isThere(desk, "cancelled.txt"), false);
});

Deno.test("of two browsers that decide at once one wins, and the other is told", async () => {
  await using desk = await startDesk();
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const other = createPerson(desk.server.url);
  for (let round = 0; round < 5; round++) {
    const filename = `race-${round}.txt`;
    const waiting = desk.call("file_write", { filename, content: "x" });
    const page = await until("the call waits", async () => {
      const shown = await desk.page("decisions");
      return shown.html.includes(filename) ? shown : null;
    });
    const otherPage = await openSignedIn(other, `${desk.server.url}/console/decisions`);
    const answers = await Promise.all([
      desk.owner.submit(page, { decision: "approve" }, 'value="decide"'),
      other.submit(otherPage, { decision: "deny" }, 'value="decide"'),
    ]);
    const [approved, denied] = answers.map(({ html }) => /(?:Approved|Denied): /.test(html));
    assert.notEqual(approved, denied);
    assert.match(answers[approved ? 1 : 0].html, /no longer waits: it was decided/);
    assert.equal((await waiting).isError, !approved);
    assert.equal(await isThere(desk, filename), approved);
  }
});
