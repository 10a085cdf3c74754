/** The set-up link of a server that nobody set up in time. */
import assert from "node:assert/strict";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

needing("sources").test( // the program whose clock a test moves runs from source
  "a set-up link that was opened too late prints a new one by itself, in the terminal alone",
  async () => {
    await using place = await makeServerPlace();
    await Deno.mkdir(place.workspaceDir, { recursive: true });
    await using server = await startServer(place, {
      program: "tests/fixtures/later_server.ts",
      args: [],
      env: { PORT: "0", LOG_FORMAT: "json" },
    });
    const made = await runCommand(["token", "create", "--scope", "files:read", "--data-dir", place.dataDir]);
    const token = made.stdout.trim();
    const forward = await postMcp(server.url, toolCall("put_forward", { milliseconds: 700_000 }), { token });
    assert.equal(forward.status, 200, await forward.text());
    const late = await fetch(server.setUpLink ?? "");
    assert.equal(late.status, 403);
    assert.match(await late.text(), /printed a new one/);
    const link = await until("another link", () => {
      const links = [...server.stderr().matchAll(/^ +(http\S+\/setup\?code=\S+)$/gm)].map(([, each = ""]) => each);
      return links.find((each) => each !== server.setUpLink);
    });
    const page = await fetch(link);
    assert.match(await page.text(), /<form/);
    assert.ok(!server.stderr().split("\n").some((line) => line.startsWith("{") && line.includes(new URL(link).search)));
  },
);
