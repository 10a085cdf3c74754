/** The switches of the Live page stop links to files, too. */
import assert from "node:assert/strict";
import { type Desk, isThere, startDesk } from "./desk.ts";

const linkOf = async (desk: Desk, tool: string, filename: string): Promise<string> => {
  const { text } = await desk.call(tool, { filename, link: true });
  return /http:\S+\/files\/[^\s"]+/.exec(text)?.[0] ?? assert.fail(text);
};

Deno.test("what is stopped gets and puts no file by a link, until calls run again", async () => {
  await using desk = await startDesk();
  await Deno.writeTextFile(`${desk.place.workspaceDir}/a.txt`, "a");
  const [download, upload] = [await linkOf(desk, "file_read", "a.txt"), await linkOf(desk, "file_write", "b.txt")];
  const transfer = async (): Promise<readonly number[]> => {
    const answers = [await fetch(download), await fetch(upload, { method: "PUT", body: "b" })];
    for (const answer of answers) await answer.body?.cancel();
    return answers.map(({ status }) => status);
  };
  await desk.owner.submit(await desk.page("live"), {}, 'value="stop"');
  assert.deepEqual(await transfer(), [403, 403]);
  assert.equal(await isThere(desk, "b.txt"), false);
  await desk.owner.submit(await desk.page("live"), {}, 'value="start"');
  assert.deepEqual(await transfer(), [200, 201]);
});

Deno.test("a transfer that runs ends when everything is stopped", async () => {
  await using desk = await startDesk();
  await Deno.writeFile(`${desk.place.workspaceDir}/large`, new Uint8Array(100_000_000));
  const reader = (await fetch(await linkOf(desk, "file_read", "large"))).body?.getReader();
  assert.ok(reader);
  await reader.read();
  await desk.owner.submit(await desk.page("live"), {}, 'value="stop"');
  await assert.rejects(async () => {
    while (!(await reader.read()).done);
  });
});
