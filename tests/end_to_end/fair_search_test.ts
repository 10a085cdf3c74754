/** What one caller may cost the others. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

const questions = 20;
const onDisk = needing("workspace directory");

onDisk.test("searches with the worst expressions that are accepted keep nobody else waiting", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  const created = await runCommand(["token", "create", "--scope", "files:read", "--data-dir", place.dataDir]);
  const token = created.stdout.trim();
  // no text that a line must hold, so each is looked at by RE2
  for (let n = 0; n < 40; n++) {
    await Deno.writeTextFile(join(server.workspaceDir, `long_lines_${n}.txt`), (`${"a".repeat(8191)}b\n`).repeat(100));
  }
  const query = `(?i)${"a?".repeat(60)}${"a".repeat(40)}[yz]`;
  const stopping = new AbortController();
  let ended = 0;
  const searches = Array.from({ length: 4 }, async () => {
    while (!stopping.signal.aborted) {
      const call = toolCall("file_search", { query, regex: true });
      const answer = await postMcp(server.url, call, { token, signal: stopping.signal })
        .then((response) => response.text())
        .catch(() => null); // aborted, perhaps in the midst of the answer
      if (answer === null) return;
      assert.match(answer, /nothing found/);
      ended++;
    }
  });
  // Each search takes seconds. Whoever had to wait for the end of one would see one end for each answer.
  for (let answered = 0; answered < questions; answered++) {
    const response = await postMcp(server.url, { jsonrpc: "2.0", id: 1, method: "ping" }, { token });
    await response.body?.cancel();
  }
  const endedMeanwhile = ended;
  stopping.abort();
  await Promise.all(searches);
  assert.ok(endedMeanwhile < questions / 2, `${endedMeanwhile} searches ended during ${questions} answers`);
});
