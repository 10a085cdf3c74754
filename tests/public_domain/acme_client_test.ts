/** An attempt to get a certificate is bounded as a whole, however slowly the authority answers. */
import assert from "node:assert/strict";
import { attemptMs, generateP256, requestCertificate } from "../../src/http/public_certificate.ts";

import { createPause } from "../../src/lib/time.ts";
import { virtualTimers } from "../fixtures/virtual_timers.ts";

const origin = "https://authority.test";
const directory = { newNonce: `${origin}/nonce`, newAccount: `${origin}/account`, newOrder: `${origin}/order` };
const answers: Readonly<Record<string, object>> = {
  "/directory": directory,
  "/order": { status: "pending", authorizations: [`${origin}/authorization`], finalize: `${origin}/finalize` },
  "/authorization": {
    status: "pending",
    challenges: [{ type: "http-01", url: `${origin}/challenge`, token: "t".repeat(32), status: "pending" }],
  },
};

Deno.test("an authority that answers each request just in time, and never decides, ends the attempt at its bound", async () => {
  const timers = virtualTimers();
  const pause = createPause(timers);
  let offered = 0;
  const fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    await pause(29_000, init?.signal ?? undefined);
    init?.signal?.throwIfAborted();
    const { pathname } = new URL(String(url));
    const headers = { "replay-nonce": "n", location: `${origin}${pathname}` };
    return new Response(JSON.stringify(answers[pathname] ?? {}), { headers });
  };
  let isOver = false;
  const attempt = requestCertificate({
    directory: `${origin}/directory`,
    name: "mcp.portcullis.test",
    accountKey: generateP256(),
    fetch,
    clock: () => timers.elapsed(),
    pause,
    signal: new AbortController().signal,
    offer: () => Promise.resolve(void offered++),
    wasAsked: () => false,
  }).finally(() => isOver = true);
  while (!isOver) {
    timers.advance(500);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  const result = await attempt;
  assert.ok(!result.ok);
  assert.match(result.error.problem, /authority\.test does not work at the moment/);
  assert.equal(offered, 1, "it came to the proof");
  assert.ok(timers.elapsed() >= attemptMs && timers.elapsed() <= attemptMs + 30_000, String(timers.elapsed()));
});
