/** From a held call to the approval, by way of a notice on a phone that is not signed in. */
import assert from "node:assert/strict";
import { openSignedIn } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { runCommand } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { fileIn, startDesk } from "../console/desk.ts";
import { startService } from "./services.ts";

Deno.test("a held call reaches the phone, whose link leads through the sign-in to that call and no other", async () => {
  await using service = startService("ntfy");
  const env = { NOTIFY_URL: service.url, NOTIFY_FORMAT: "ntfy", NOTIFY_SECRET: service.secret };
  await using desk = await startDesk({ env });
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const secret = "what the file holds";
  const held = desk.call("file_write", { filename: "a.txt", content: secret });
  const shown = await until("the phone shows it", () => service.shown.find(({ text }) => text.includes("file_write")));
  assert.match(shown.text, /^.* wants to use file_write\nFor owner\. It waits for approval until/);
  assert.doesNotMatch(JSON.stringify(shown), /what the file holds|a\.txt/);
  const other = desk.call("file_write", { filename: "b.txt", content: "other" });

  const phone = createPerson(desk.server.url);
  const asked = await phone.open(shown.click);
  assert.match(asked.html, /type="password"/, "the link alone shows nothing");
  assert.doesNotMatch(asked.html, /file_write|what the file holds/);
  for (
    const next of [
      "//evil.example",
      "console//evil.example",
      "console/decisions?x=//evil",
      "console@evil",
      "console?a\r\nb",
    ]
  ) {
    const { html } = await phone.open(`${desk.server.url}/oauth/sign-in?${new URLSearchParams({ next })}`);
    assert.doesNotMatch(html, /evil|\r\nb/, next);
  }
  const page = await openSignedIn(phone, shown.click);
  assert.equal(page.url.href, shown.click);
  const [first = ""] = /<article[^]*?<\/article>/.exec(page.html) ?? [];
  assert.match(first, /what the file holds/, "the very call comes first");
  await phone.submit(page, { decision: "approve" }, 'value="decide"');
  assert.equal((await held).isError, false);
  assert.equal(await fileIn(desk, "a.txt"), secret);
  await desk.decide("deny");
  assert.ok((await other).isError);
});

Deno.test("NOTIFY_CONTENTS=on: the notice shows what the call would do, its invisible characters too", async () => {
  await using service = startService("ntfy");
  const env = { NOTIFY_URL: service.url, NOTIFY_FORMAT: "ntfy", NOTIFY_SECRET: service.secret, NOTIFY_CONTENTS: "on" };
  await using desk = await startDesk({ env });
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const held = desk.call("file_write", { filename: "a.txt", content: "what the file\u200b holds" });
  const { text } = await until("the phone shows it", () => service.shown[0]);
  assert.match(text, /wants to use file_write\nFor owner\..*\n[^]*a\.txt[^]*what the file\\u\{200B\} holds/);
  await desk.decide("deny");
  await held;
});

Deno.test("the console and doctor say when a notice did not arrive, and where, without its address", async () => {
  await using service = startService("json");
  await using desk = await startDesk({ env: { NOTIFY_URL: service.url, NOTIFY_SECRET: "another secret" } });
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const held = desk.call("file_write", { filename: "a.txt", content: "x" });
  const overview = () => openSignedIn(desk.owner, `${desk.server.url}/console`);
  await until("the overview says so", async () => (await overview()).html.includes("did not arrive"));
  const { html } = await overview();
  assert.match(html, /json at 127\.0\.0\.1:\d+ answers 401/);
  assert.doesNotMatch(html, /\/hook|another secret/);
  assert.doesNotMatch((await desk.page("settings")).html, /\/hook|another secret/);
  await desk.decide("deny");
  await held;
});

Deno.test("a server that is stopped sends the notices that wait, also one that did not arrive at first", async () => {
  await using service = startService("ntfy");
  const env = { NOTIFY_URL: service.url, NOTIFY_FORMAT: "ntfy", NOTIFY_SECRET: service.secret, SHUTDOWN_TIMEOUT: "1" };
  await using desk = await startDesk({ env });
  await desk.rule({ tool: "file_write", verdict: "ask" });
  service.answers.push(() => new Response(null, { status: 503, headers: { "retry-after": "900" } }));
  const calls = ["a", "b", "c"].map((filename) => desk.call("file_write", { filename, content: "x" }).catch(() => {}));
  await until("the first did not arrive", () => service.requests() === 1);
  await until("all wait", async () => (await desk.page("decisions")).html.split("<article").length === 4);
  await desk.server.stop();
  await Promise.all(calls);
  const [first = "", others = "", ...more] = service.shown.map(({ text }) => text);
  assert.match(first, /wants to use file_write/);
  assert.match(others, /^2 notices\n2 waiting for approval\.$/);
  assert.deepEqual(more, []);
});

Deno.test("notify test sends one, and says what kept it from arriving", async () => {
  await using service = startService("gotify");
  const env = { NOTIFY_URL: service.url, NOTIFY_FORMAT: "gotify", NOTIFY_SECRET: service.secret };
  const sent = await runCommand(["notify", "test"], { env });
  assert.equal(sent.code, 0, sent.stderr);
  assert.match(sent.stderr, /^sent to gotify at 127\.0\.0\.1:\d+$/m);
  assert.match(service.shown[0]?.text ?? "", /^Notices work\n/);
  const refused = await runCommand(["notify", "test"], { env: { ...env, NOTIFY_SECRET: "wrong" } });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^error: gotify at 127\.0\.0\.1:\d+ answers 401\nhint: /m);
  const unset = await runCommand(["notify", "test"]);
  assert.match(unset.stderr, /^error: NOTIFY_URL is not set/m);
});
