/** What one caller may cost the others. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

const onDisk = needing("workspace directory");

onDisk.test("searches with the worst expressions that are accepted keep nobody else waiting", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  const created = await runCommand(["token", "create", "--scope", "files:read", "--data-dir", place.dataDir]);
  const token = created.stdout.trim();
  await Deno.writeTextFile(join(server.workspaceDir, "long_lines.txt"), (`${"a".repeat(8191)}b\n`).repeat(40));
  const query = `(?i)${"a?".repeat(100)}${"a".repeat(40)}z`;
  let searching = true;
  const searches = Promise.all(Array.from({ length: 4 }, async () => {
    const response = await postMcp(server.url, toolCall("file_search", { query, regex: true }), { token });
    assert.match(await response.text(), /nothing found/);
  })).finally(() => searching = false);
  const waits: number[] = [];
  while (searching) {
    const asked = performance.now();
    const response = await postMcp(server.url, { jsonrpc: "2.0", id: 1, method: "ping" }, { token });
    await response.body?.cancel();
    waits.push(performance.now() - asked);
  }
  await searches;
  const median = waits.toSorted((a, b) => a - b)[Math.floor(waits.length / 2)] ?? Infinity;
  assert.ok(median < 250, `half of the requests waited longer than ${median} ms`);
});
