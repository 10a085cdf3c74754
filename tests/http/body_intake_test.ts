import assert from "node:assert/strict";
import { z } from "zod";
import { createBodyIntake, limitBodies } from "../../src/http/guard.ts";
import { defineTool } from "../../src/mcp/tool.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { shareKey } from "../../src/lib/principal.ts";
import { whenAnswersAreRead } from "../../src/lib/turns.ts";
import { createHarness, postRequest, principalWith, toolCall } from "../mcp/harness.ts";

function admittedOf(caller: string, bytes: number, intake: ReturnType<typeof createBodyIntake>): number {
  let count = 0;
  while (intake.admit(caller, bytes) === "admitted") count++;
  return count;
}

Deno.test("createBodyIntake() leaves room for everybody, however much each caller before has taken", () => {
  const intake = createBodyIntake(64_000);
  const taken = Array.from({ length: 5 }, (_, index) => admittedOf(`caller ${index}`, 500, intake));
  assert.deepEqual(taken, [64, 32, 16, 8, 4]);
  assert.equal(intake.admit("one who asks for little", 500), "admitted");
  for (let count = 0; count < 64; count++) intake.release("caller 0", 500);
  assert.ok(admittedOf("caller 0", 500, intake) > 30, "what was given back can be taken again");
});

Deno.test("createBodyIntake() admits no size that is no number, and counts on", () => {
  const intake = createBodyIntake(1_000);
  assert.equal(intake.admit("a", Number.NaN), "over_share");
  assert.equal(intake.take("a", Number.NaN), false);
  assert.equal(intake.admit("a", 1_001), "over_share");
  assert.equal(intake.admit("a", 1_000), "admitted");
});

Deno.test("a body whose length is declared twice is counted like any other, and leaves the bound in force", async () => {
  const [intake, publicIntake, formIntake] = [1, 2, 3].map(() => createBodyIntake(1_000_000));
  assert.ok(intake && publicIntake && formIntake);
  const harness = createHarness({
    intake,
    publicIntake,
    publicInitialize: "always",
    authenticate: ({ headers }) =>
      headers.has("authorization") ? { kind: "principal", principal: principalWith([]) } : { kind: "no_token" },
  });
  const seen: (string | null)[] = [];
  const form = limitBodies(formIntake, 10_000, (request) => Promise.resolve(new Response(request.body)));
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    seen.push(request.headers.get("content-length"));
    const peer = { address: "192.0.2.1" };
    return request.url.endsWith("/mcp") ? harness.endpoint(request, peer) : form(request, peer);
  });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} });
  const length = `Content-Length: ${body.length}\r\n`;
  const head = `Host: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n${length}${length}`;
  try {
    for (
      const first of ["/mcp HTTP/1.1\r\nAuthorization: Bearer a", "/mcp HTTP/1.1\r\nAccept: */*", "/form HTTP/1.1"]
    ) {
      using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
      await connection.write(new TextEncoder().encode(`POST ${first}\r\n${head}\r\n${body}`));
      const answer = await new Response(connection.readable).text();
      assert.equal(answer.slice(0, 12), "HTTP/1.1 200", answer);
    }
  } finally {
    await server.shutdown();
  }
  assert.deepEqual(seen, Array(3).fill(`${body.length}, ${body.length}`));
  for (const each of [intake, publicIntake, formIntake]) {
    assert.equal(each.admit("another", 1_000_001), "over_share");
    assert.equal(each.admit("another", 1_000_000), "admitted");
  }
});

Deno.test("stop() waits for the admitted bodies and admits no more", async () => {
  const intake = createBodyIntake(1_000);
  assert.equal(intake.admit("a", 100), "admitted");
  const stopped = intake.stop(60_000);
  assert.equal(intake.admit("a", 100), "stopping");
  intake.arrived();
  await stopped;
  assert.equal(intake.isAbandoned, false);
});

Deno.test("stop() abandons bodies that take too long", async () => {
  const intake = createBodyIntake(1_000);
  intake.admit("a", 100);
  await intake.stop(1);
  assert.equal(intake.isAbandoned, true);
});

Deno.test("a large answer counts against its caller until it was sent; another caller is answered all the while", async () => {
  const large = defineTool({
    name: "large",
    title: "Large",
    description: "Answers at length.",
    scopes: ["files:read"],
    annotations: {},
    input: z.object({}),
    run: () => ({ ok: true, content: [{ type: "text", text: "x".repeat(100_000) }] }),
  });
  const harness = createHarness({
    intake: createBodyIntake(1_000_000),
    tools: createToolRegistry([large]),
    authenticate: (request) => ({
      kind: "principal",
      principal: { ...principalWith(["files:read"]), subject: request.headers.get("authorization") ?? "" },
    }),
  });
  const sent: PromiseWithResolvers<void>[] = [];
  const ask = async (caller: string): Promise<number> => {
    const taken = Promise.withResolvers<void>();
    const request = postRequest(toolCall("large", {}), { authorization: caller });
    const response = await harness.endpoint(request, { address: "192.0.2.1", answerSent: taken.promise });
    if (response.status === 200) sent.push(taken);
    else assert.equal(response.headers.get("retry-after"), "1");
    await response.body?.cancel();
    return response.status;
  };
  const statuses: number[] = [];
  for (let count = 0; count < 10; count++) statuses.push(await ask("one"));
  assert.deepEqual([statuses[0], statuses.at(-1)], [200, 503]);
  assert.equal(await ask("another"), 200);
  for (const each of sent) each.resolve();
  await Promise.all(sent.map(({ promise }) => promise));
  assert.equal(await ask("one"), 200);
});

Deno.test("what a stream sent counts as unread from its end on: before, its caller takes one message after another", async () => {
  const principal = { ...principalWith(["files:read"]), subject: "one who listens" };
  const over = Promise.withResolvers<null>();
  const frames = Array.from({ length: 3 }, () => ({ id: null, text: "x".repeat(4_000_000) }));
  const harness = createHarness({
    mcp: {
      ...createHarness().mcp,
      handle: () => ({
        kind: "stream",
        reader: { next: () => frames.pop() ?? over.promise, rest: () => null, cancel() {} },
      }),
    },
    authenticate: () => ({ kind: "principal", principal }),
  });
  const sent = Promise.withResolvers<void>();
  const peer = { address: "192.0.2.1", answerSent: sent.promise };
  const response = await harness.endpoint(postRequest(toolCall("any", {})), peer);
  const isRead = () => whenAnswersAreRead(shareKey(principal), () => new AbortController().signal);
  const reader = response.body?.getReader();
  for (let frame = 1; frame <= 3; frame++) await reader?.read();
  assert.equal(isRead(), null);
  over.resolve(null);
  assert.equal((await reader?.read())?.done, true);
  const waiting = isRead();
  sent.resolve();
  assert.equal(await waiting, true);
});
