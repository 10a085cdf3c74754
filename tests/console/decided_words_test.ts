/** What the page of approvals says is what happens then: on its forms before, in its words after. */
import assert from "node:assert/strict";
import { isThere, startDesk } from "./desk.ts";

const isPending = /waits for a person's approval/;

Deno.test("a form that says neither approve nor deny decides nothing", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await desk.rule({ tool: "changes", verdict: "ask" });
  const write = () => desk.call("file_write", { filename: "a.txt", content: "x" });
  assert.match((await write()).text, isPending);
  assert.match(
    (await desk.page("decisions")).html,
    /runs if its agent still waits, or when\s+the agent asks again within 15 min/,
  );
  for (const decision of [[], "", "maybe", "Approve"] as const) {
    const page = await desk.owner.submit(await desk.page("decisions"), { decision }, 'value="decide"');
    assert.match(page.html, /Nothing was decided: press Approve or Deny/);
    assert.match((await write()).text, isPending);
  }
  assert.match((await desk.decide("approve")).html, /Approved: file_write on a\.txt</);
  assert.equal((await write()).isError, false);
});

Deno.test("an approval that should last says where it would, and that it is for one call where it cannot", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await desk.rule({ tool: "file_write", place: "drafts", verdict: "ask" });
  const write = (name: string) => desk.call("file_write", { filename: `drafts/${name}`, content: "x" });
  assert.match((await write("a.txt")).text, isPending);
  const page = await desk.page("decisions");
  for (const words of ["by this connection for an hour", "from now on"]) {
    assert.match(page.html, new RegExp(`each file_write in drafts [^<]*${words}<`));
  }
  await desk.owner.submit(await desk.page("rules"), {}, 'value="remove"');
  await desk.rule({ tool: "changes", verdict: "ask" });
  const decided = await desk.owner.submit(page, { decision: "approve", extent: "always" }, 'value="decide"');
  assert.match(
    decided.html,
    /Approved: file_write on drafts\/a\.txt \(this time only: the rule that asked was removed/,
  );
  assert.equal((await write("a.txt")).isError, false);
  assert.match((await write("b.txt")).text, isPending);
});

Deno.test("what would be done to several paths begins with how many, and says what is not there", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  const root = desk.place.workspaceDir;
  for (const name of ["a.txt", "b.txt"]) await Deno.writeTextFile(`${root}/${name}`, name);
  await Deno.mkdir(`${root}/d`);
  await desk.rule({ tool: "changes", verdict: "ask" });
  for (
    const [tool, input, words] of [
      ["file_delete", { paths: ["a.txt", "b.txt", "d", "gone.txt"] }, [
        "<strong>Deletes 4 paths:</strong>",
        "Deletes d, if the directory is empty",
        "Deletes gone.txt: nothing is there, so the call fails",
      ]],
      ["file_move", { paths: ["a.txt", "b.txt"], destination: "d" }, ["<strong>Moves 2 paths:</strong>"]],
      ["file_write", { filename: "a.txt", content: "1", files: [{ filename: "c.txt", content: "2" }] }, [
        "<strong>Writes 2 paths:</strong>",
      ]],
    ] as const
  ) {
    assert.match((await desk.call(tool, input)).text, isPending);
    const { html } = await desk.page("decisions");
    for (const each of words) assert.ok(html.includes(each), `${each}\n${html}`);
    await desk.decide("deny");
  }
  assert.equal(await isThere(desk, "a.txt"), true);
});
