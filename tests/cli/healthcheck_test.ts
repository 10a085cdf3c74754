import assert from "node:assert/strict";
import { freePort } from "../fixtures/free_port.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

Deno.test("healthcheck exits 0 while the server is well, through no proxy, and 1 when it is gone", async () => {
  await using place = await makeServerPlace();
  const port = String(freePort());
  const server = await startServer(place, { args: ["--port", port] });
  // 0.0.0.0 needs a SERVER_URL, as a container has it; the check still asks this machine.
  const everywhere = { HOST: "0.0.0.0", SERVER_URL: "https://mcp.example.com", REGISTRATION: "off" };
  const badProxy = { HTTP_PROXY: "http://127.0.0.1:9", HTTPS_PROXY: "http://127.0.0.1:9" };
  for (const env of [{}, everywhere, badProxy]) {
    const { code, stdout, stderr } = await runCommand(["healthcheck", "--port", port], { env });
    assert.deepEqual([code, stdout, stderr], [0, "", ""]);
  }
  await server.stop();
  const gone = await runCommand(["healthcheck", "--port", port]);
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /^error: \/health on port \d+ cannot be reached: nothing listens there\n$/);
});

Deno.test("healthcheck exits 1 on another answer than 200, and on a server that does not answer", async () => {
  const unwell = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response("", { status: 503 }),
  );
  const answered = await runCommand(["healthcheck", "--port", String(unwell.addr.port)]);
  assert.deepEqual([answered.code, answered.stderr], [1, `error: /health on port ${unwell.addr.port} answered 503\n`]);
  await unwell.shutdown();

  const silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const waited = await runCommand(["healthcheck", "--port", String(silent.addr.port)]);
  assert.equal(waited.code, 1);
  assert.match(waited.stderr, /did not answer within 3 s/);
  silent.close();
});

Deno.test("healthcheck exits 2 on settings that the server would refuse", async () => {
  assert.equal((await runCommand(["healthcheck", "--port", "no"])).code, 2);
});
