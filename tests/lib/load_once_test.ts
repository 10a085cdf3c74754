/** What is loaded when it is first asked for. */
import assert from "node:assert/strict";
import { createAsyncContext, loadOnce } from "../../src/lib/program.ts";

Deno.test("a module that a call loads takes the call's trace to no later request", async () => {
  const calls = createAsyncContext<string>();
  const load = loadOnce(() => import("diff"));
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const answer = async (): Promise<Response> => {
      await load();
      return new Response(calls.current() ?? "none");
    };
    const name = new URL(request.url).searchParams.get("name");
    return name === null ? await answer() : await calls.run(name, answer);
  });
  const ask = async (query: string): Promise<string> =>
    await (await fetch(`http://127.0.0.1:${server.addr.port}/${query}`)).text();
  assert.deepEqual([await ask("?name=first"), await ask(""), await ask("?name=last"), await ask("")], [
    "first",
    "none",
    "last",
    "none",
  ]);
});

Deno.test("what failed to load is loaded again", async () => {
  let attempts = 0;
  const load = loadOnce(() =>
    ++attempts === 1 ? Promise.reject(new Error("no descriptor")) : Promise.resolve("loaded")
  );
  let used = "";
  await load.ifLoaded((loaded) => void (used = loaded));
  assert.equal(attempts, 0);
  await assert.rejects(load(), /no descriptor/);
  assert.equal(await load(), "loaded");
  assert.equal(await load(), "loaded");
  await load.ifLoaded((loaded) => void (used = loaded));
  assert.deepEqual([attempts, used], [2, "loaded"]);
});
