/** What people decide on the console holds for links to files, too: stopping, rules, disabling. */
import assert from "node:assert/strict";
import { until } from "../fixtures/until.ts";
import { type Desk, fileIn, isThere, startDesk } from "./desk.ts";

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
  await desk.owner.submit(await desk.page("activity"), {}, 'value="stop"');
  assert.deepEqual(await transfer(), [403, 403]);
  assert.equal(await isThere(desk, "b.txt"), false);
  await desk.owner.submit(await desk.page("activity"), {}, 'value="start"');
  assert.deepEqual(await transfer(), [200, 201]);
});

Deno.test("a transfer that runs ends when everything is stopped", async () => {
  await using desk = await startDesk();
  await Deno.writeFile(`${desk.place.workspaceDir}/large`, new Uint8Array(100_000_000));
  const reader = (await fetch(await linkOf(desk, "file_read", "large"))).body?.getReader();
  assert.ok(reader);
  await reader.read();
  await desk.owner.submit(await desk.page("activity"), {}, 'value="stop"');
  await assert.rejects(async () => {
    while (!(await reader.read()).done);
  });
});

const put = async (url: string): Promise<readonly [number, string]> => {
  const response = await fetch(url, { method: "PUT", body: "01234567" });
  return [response.status, await response.text()];
};

Deno.test("rules are judged at each transfer: a link is of use where they allow it or its call was approved", async () => {
  await using desk = await startDesk();
  await Deno.mkdir(`${desk.place.workspaceDir}/secret`);
  for (const name of ["secret/a.txt", "b.txt"]) await Deno.writeTextFile(`${desk.place.workspaceDir}/${name}`, name);
  const upload = await linkOf(desk, "file_write", "secret/new.txt");
  const download = await linkOf(desk, "file_read", "secret/a.txt");
  const others = [await linkOf(desk, "file_write", "new.txt"), await linkOf(desk, "file_read", "b.txt")] as const;
  await desk.rule({ place: "secret", verdict: "deny" });
  const refused = "A rule of this server's owner stands against this transfer.\n";
  assert.deepEqual(await put(upload), [403, refused]);
  const got = await fetch(download);
  assert.deepEqual([got.status, await got.text()], [403, refused]);
  assert.equal(await isThere(desk, "secret/new.txt"), false);
  assert.deepEqual([(await put(others[0]))[0], await (await fetch(others[1])).text()], [201, "b.txt"]);

  const earlier = await linkOf(desk, "file_write", "asked.txt");
  await desk.rule({ tool: "file_write", verdict: "ask" });
  assert.deepEqual(await put(earlier), [403, refused], "nobody has approved it");
  const approved = linkOf(desk, "file_write", "asked.txt");
  await desk.decide("approve");
  assert.equal((await put(await approved))[0], 201);
});

Deno.test("a running upload ends when a rule against it is made, or everything is stopped, and writes nothing", async () => {
  await using desk = await startDesk();
  const piece = new Uint8Array(300_000);
  for (const end of ["rule", "stop"] as const) {
    const url = await linkOf(desk, "file_write", `${end}.bin`);
    const goOn = Promise.withResolvers<void>();
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(piece);
        await goOn.promise;
        controller.enqueue(piece);
        controller.close();
      },
    });
    const putting = fetch(url, { method: "PUT", body });
    await until("it runs", () => desk.server.stderr().split('"transfer_started"').length === (end === "rule" ? 2 : 3));
    if (end === "rule") await desk.rule({ place: "rule.bin", verdict: "deny" });
    else await desk.owner.submit(await desk.page("activity"), {}, 'value="stop"');
    goOn.resolve();
    const response = await putting;
    assert.equal(response.status, 403, await response.text());
    assert.equal(await isThere(desk, `${end}.bin`), false);
  }
});

Deno.test("an upload by link is undone from its line of the audit", async () => {
  await using desk = await startDesk();
  await Deno.writeTextFile(`${desk.place.workspaceDir}/f.txt`, "old\n");
  const url = await linkOf(desk, "file_write", "f.txt");
  const response = await fetch(url, { method: "PUT", body: "new\n" });
  assert.equal(response.status, 200, await response.text());
  const link = await until("the audit has it", async () => {
    const { html } = await desk.page("activity");
    return /href="([^"]*change[^"]*)"/.exec(html)?.[1]?.replaceAll("&amp;", "&");
  });
  const change = await desk.owner.open(new URL(link, desk.server.url));
  assert.ok(change.html.includes("<del>-old</del>"), change.html);
  await desk.owner.submit(change, {}, 'value="undo"');
  assert.equal(await fileIn(desk, "f.txt"), "old\n");
});
