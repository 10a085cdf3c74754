/** What people do in the console is in the audit: who did it, and what it changed. */
import assert from "node:assert/strict";
import { decodeEntities } from "../fixtures/person.ts";
import { openSignedIn } from "../fixtures/owner.ts";
import { until } from "../fixtures/until.ts";
import { startDesk } from "./desk.ts";

Deno.test("changes of rules, undone changes and what is done to people name their doer in the audit", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  const { owner, server } = desk;
  await desk.call("file_write", { filename: "u.txt", content: "u" });
  await desk.rule({ tool: "file_write", place: "secret", verdict: "deny" });
  await owner.submit(await desk.page("people"), { user: "ada" }, 'value="invite"');
  const lines = async (): Promise<readonly Record<string, unknown>[]> => {
    const { html } = await openSignedIn(owner, `${server.url}/console/activity?download=audit`);
    return html.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  };
  const lineOf = (event: string): Promise<Record<string, unknown>> =>
    until(`a line of ${event}`, async () => (await lines()).find((line) => line["event"] === event) ?? null);
  assert.equal((await lineOf("rules_changed"))["target"], "added: Calls of file_write in secret are refused.");
  assert.equal((await lineOf("rules_changed"))["person"], "owner");
  assert.equal((await lineOf("invitation_made"))["target"], "by owner");

  const link = await until(
    "the change has its line",
    async () => /href="(\/console\/change\?[^"]+)"/.exec((await desk.page("activity")).html)?.[1] ?? null,
  );
  const change = await owner.open(new URL(decodeEntities(link), server.url));
  assert.match((await owner.submit(change, {}, 'value="undo"')).html, /Undid file_write/);
  const undone = await lineOf("change_undone");
  assert.deepEqual([undone["person"], undone["target"]], ["owner", "u.txt"]);

  await owner.submit(await desk.page("rules"), {}, 'value="remove"');
  await until(
    "the removal has its line",
    async () => (await lines()).some(({ target }) => target === "removed: Calls of file_write in secret are refused."),
  );
});

Deno.test("a rule that stands is not added again, from whatever page", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  const { owner } = desk;
  const empty = await desk.page("rules"); // still open when the rules below stand
  const add = async (fields: Record<string, string>) =>
    (await owner.submit(empty, { ...fields, clicked: "" }, 'value="add"')).html;
  const shown = async () =>
    (await desk.page("rules")).html.split(/<ul class="rules">|<\/ul>/)[1]?.match(/<li>/g)?.length;
  const secret = { verdict: "ask", tool: "file_write", place: "secret" };
  const both = await Promise.all([add(secret), add(secret)]);
  assert.equal(both.filter((page) => page.includes("The rule was added.")).length, 1);
  const again = await add({ ...secret, place: " ./secret/" });
  assert.match(again, /This rule stands already\. Nothing was changed\./);
  assert.doesNotMatch(again, /The rule was added/);
  assert.equal(await shown(), 1);
  assert.match(await add({ ...secret, approver: "administrator" }), /The rule was added\./);
  for (const said of [/The rule was added\. Calls that change something wait/, /This rule stands already/]) {
    assert.match((await owner.submit(empty, {}, 'value="guard"')).html, said);
  }
  assert.equal(await shown(), 3);
});
