import assert from "node:assert/strict";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { decide, openBrowser, ownerPasswordHash, reachConsent } from "./harness.ts";

Deno.test("mcp-remote signs in at the started server and lists the tools", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { OWNER_PASSWORD_HASH: ownerPasswordHash } });
  const home = await Deno.makeTempDir({ prefix: "portcullis-mcp-remote-" });
  const denoDir = process.env["DENO_DIR"];
  const run = ["run", "-A", "--config", fileURLToPath(new URL("../../deno.dev.json", import.meta.url))];
  const child = new Deno.Command(Deno.execPath(), {
    args: [...run, "npm:mcp-remote@^0.15/mcp-remote-client", `${server.url}/mcp`, "--transport", "http-only"],
    // Without a PATH it finds no browser to open: this test is the browser.
    env: {
      HOME: home,
      MCP_REMOTE_CONFIG_DIR: home,
      PATH: home,
      DENO_DIR: denoDir ?? `${process.env["HOME"]}/.cache/deno`,
      NO_COLOR: "1",
    },
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let text = "";
  const gather = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const part of stream.pipeThrough(new TextDecoderStream())) text += part;
  };
  const gathering = [gather(child.stdout), gather(child.stderr)];
  try {
    const [, address = ""] = await seen(
      () => /(http:\/\/127\.0\.0\.1:\d+\/oauth\/authorize\?\S+)\s/.exec(text),
      () => text,
    );
    const url = new URL(address);
    const browser = openBrowser({
      fetch: (path, init) => fetch(new URL(path, url.origin), { redirect: "manual", ...init }),
    });
    const answered = await decide(browser, await reachConsent(browser, url.pathname + url.search));
    await answered.body?.cancel();
    const callback = await fetch(answered.headers.get("location") ?? "");
    assert.equal(callback.status, 200);
    await callback.body?.cancel();
    await seen(() => /"name": "file_read"/.exec(text), () => text);
  } finally {
    await child.stdin.close().catch(() => {});
    try {
      child.kill("SIGKILL");
    } catch {
      // it has ended already
    }
    await child.status;
    await Promise.all(gathering);
    await Deno.remove(home, { recursive: true });
  }
});

/** Waits until the child has printed something. */
async function seen(find: () => RegExpExecArray | null, all: () => string): Promise<RegExpExecArray> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    const found = find();
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`mcp-remote printed:\n${all()}`);
}
