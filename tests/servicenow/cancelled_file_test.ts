/** Files of the instance that their sender cancels: by HTTP/2 they end like whole ones (RFC 9113 §8.1). */
import assert from "node:assert/strict";
import { Refusal } from "../../src/servicenow/failure.ts";
import { createTransport } from "../../src/servicenow/transport.ts";

async function fetchFile(headers: HeadersInit): Promise<string> {
  const instance = { origin: "https://dev1.service-now.com" };
  const fetch = () => Promise.resolve(new Response("only", { headers }));
  const transport = createTransport({ instance, fetch, fetchOnce: fetch });
  const { signal } = new AbortController();
  const request = { method: "GET", path: "/file", accept: "stream", maxBytes: 100 } as const;
  const answer = await transport(request, { accessToken: null, signal });
  assert.ok(answer.ok && answer.value.file !== undefined);
  const pieces = await Array.fromAsync(answer.value.file.pieces);
  return new TextDecoder().decode(Uint8Array.from(pieces.flatMap((piece) => [...piece])));
}

Deno.test("a file of the instance that ends before its declared end is cut", async () => {
  assert.equal(await fetchFile({}), "only");
  assert.equal(await fetchFile({ "content-length": "4" }), "only");
  assert.equal(await fetchFile({ "content-encoding": "gzip", "content-length": "9" }), "only"); // as fetch unpacked it
  await assert.rejects(
    fetchFile({ "content-length": "9" }),
    (error) =>
      error instanceof Refusal && error.failure.reason === "unavailable" && error.failure.because === "unreachable",
  );
});
