/** Notices: to each service, once, bounded, retried, and with nothing in them that a sender's name could make of them. */
import assert from "node:assert/strict";
import { ask } from "../../src/console/approvals/gate.ts";
import { noticeSettings } from "../../src/console/mod_settings.ts";
import {
  examineNotices,
  type Notice,
  type NoticeTarget,
  noticeTarget,
  openNotices,
  requestOf,
  sendNotice,
} from "../../src/console/notices/notices.ts";
import type { Log, LogFields } from "../../src/lib/log.ts";
import type { Check } from "../../src/lib/result.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";
import { until } from "../fixtures/until.ts";
import { virtualTimers } from "../fixtures/virtual_timers.ts";
import { type ServiceName, services, startService } from "./services.ts";

const names = Object.keys(services) as ServiceName[];
const page = "https://mcp.example.com/console/decisions?call=abc&x=1";

function notice(title: string, text = "For ada. It waits."): Notice {
  return { id: "1", kind: "held_call", time: Date.now(), title, text, url: page };
}

const hostile = [
  "<!channel> <@U1|you> @everyone @here <@1234>",
  "[approve](https://evil.example/x) <https://evil.example|Approve>",
  "**bold** _it_ `code` ~~no~~ ||spoiler|| # head > quote",
  '"\\\u2028}, "injected": {"',
  "<script>alert(1)</script> &amp; &lt;b&gt;",
];

for (const name of names) {
  Deno.test(`${name}: a notice arrives, with its link, and a name in it is no mention, link or style`, async () => {
    await using service = startService(name);
    const target: NoticeTarget = { url: service.url, format: name, secret: service.secret };
    for (const title of ["Claude Code wants to use file_edit", ...hostile]) {
      const sent = await sendNotice(notice(title), target, { fetch, now: Date.now() });
      assert.deepEqual(sent, { ok: true }, title);
      const last = service.shown.at(-1) ?? { text: "", click: "" };
      assert.ok(last.text.startsWith(`${title}\nFor ada.`), last.text);
      assert.equal(last.click, page);
      assert.deepEqual(last.wrong ?? [], [], title);
    }
  });

  Deno.test(`${name}: what a call would do is sent where the owner asks, bounded, escaped, and without a link`, async () => {
    await using service = startService(name);
    const target: NoticeTarget = { url: service.url, format: name, secret: service.secret };
    const place = startNotices({ target, showsContents: true });
    const effect = `Edits a.md\n@@ -1 +1 @@\n-a\n+${hostile.join("\n")}\u200b\u{e0041}`;
    for (const text of [effect, "*".repeat(3_000), "\u{e0041}".repeat(3_000)]) {
      const judged = {
        ...{ person: "ada", clientId: "c1", grantId: "g", tool: "file_edit" },
        changes: true,
        places: [],
      };
      const asked = {
        input: { text },
        judged,
        rule: { id: "r", verdict: "ask" as const },
        effect: text,
        effectDigest: "d",
      };
      const quiet = { write() {}, flush() {} };
      const held = await ask(asked, { storage: place.storage, clock: Date.now, log: quiet, nameOfClient: (id) => id });
      assert.ok(typeof held !== "string");
      await place.hold(held.call.id);
      const shown = await until("it arrives", async () => {
        await place.advance(5_000);
        return service.shown.shift();
      });
      assert.match(shown.text, /^Claude Code wants to use file_edit\nFor ada\..*\n/);
      assert.ok(
        shown.text.length < 700 && shown.text.includes(text === effect ? "Edits a.md\n@@ -1 +1 @@\n-a\n+" : "…"),
      );
      assert.doesNotMatch(shown.text.replace(shown.click, ""), /[\u200b\u{e0041}]|https:\/\//u);
      assert.deepEqual(shown.wrong ?? [], []);
    }
    place.notices.close();
  });

  Deno.test(`${name}: the largest notice stays within the service's limits`, async () => {
    await using service = startService(name);
    const target: NoticeTarget = { url: service.url, format: name, secret: service.secret };
    const sent = await sendNotice(notice("*".repeat(250), "😀".repeat(300)), target, { fetch, now: Date.now() });
    assert.deepEqual(sent, { ok: true });
  });
}

Deno.test("the format is the setting's, or the host's; a signature needs no whsec_", async () => {
  const formats: readonly (readonly [string, string])[] = [
    ["https://ntfy.sh/topic", "ntfy"],
    ["http://ntfy.home.arpa:8080/topic", "ntfy"],
    ["https://hooks.slack.com/services/T/B/x", "slack"],
    ["https://discord.com/api/webhooks/1/x", "discord"],
    ["https://prod-1.westeurope.logic.azure.com/workflows/x", "teams"],
    ["https://x.environment.api.powerplatform.com/workflows/x", "teams"],
    ["https://gotify.example.com", "gotify"],
    ["https://example.com/discord.com", "json"],
    ["https://hooks.slack.com.example.com/x", "json"],
  ];
  for (const [url, format] of formats) assert.equal(noticeTarget({ url })?.format, format, url);
  assert.equal(noticeTarget({ url: "https://ntfy.sh/x", format: "json" })?.format, "json");
  assert.equal(noticeTarget({}), null);
  const below = requestOf(notice("x"), { url: "https://h.example/below/my-topic?x=1", format: "ntfy" }, 0);
  assert.equal(below.url, "https://h.example/below/");
  await using service = startService("json", { secret: "of my own" });
  const target = { url: service.url, format: "json", secret: "of my own" } as const;
  assert.deepEqual(await sendNotice(notice("x"), target, { fetch, now: Date.now() }), { ok: true });
});

Deno.test("NOTIFY_URL is https, or http where the owner's own network is named", () => {
  const good = [
    "https://ntfy.sh/x",
    "http://127.0.0.1:1/x",
    "http://192.168.1.5/x",
    "http://[fd00::1]/x",
    "http://ntfy/x",
  ];
  const bad = [
    "http://ntfy.sh/x",
    "http://8.8.8.8/",
    "ftp://a/",
    "file:///etc/passwd",
    "https://u:p@a.example/",
    "x",
    "",
  ];
  for (const text of good) assert.ok(noticeSettings.url.parse(text).ok, text);
  for (const text of bad) assert.equal(noticeSettings.url.parse(text).ok, false, text);
});

Deno.test("a redirect is not followed, a refusal not repeated, and a busy service asked again when it says", async () => {
  await using elsewhere = startService("json");
  await using service = startService("json");
  const target = { url: service.url, format: "json", secret: service.secret } as const;
  const send = (now = Date.now()) => sendNotice(notice("x"), target, { fetch, now });
  const answer = (status: number, headers: Record<string, string> = {}) =>
    service.answers.push(() => new Response("<b>no</b>", { status, headers }));
  answer(302, { location: elsewhere.url });
  assert.deepEqual(await send(), { ok: false, problem: "redirects, which is not followed", retry: null });
  assert.equal(elsewhere.requests(), 0);
  for (const status of [400, 401, 403, 404, 410, 413]) {
    answer(status);
    assert.deepEqual(await send(), { ok: false, problem: `answers ${status}`, retry: null });
  }
  const waits: readonly (readonly [number, string | null, number])[] = [
    [429, "7", 7_000],
    [429, "0.25", 250],
    [503, new Date(60_000).toUTCString(), 60_000],
    [429, "999999", 900_000],
    [500, null, 0],
    [429, "soon", 0],
    [429, "-5", 0],
  ];
  for (const [status, after, retry] of waits) {
    answer(status, after === null ? {} : { "retry-after": after });
    assert.deepEqual(await send(0), { ok: false, problem: `answers ${status}`, retry }, String(after));
  }
  await service[Symbol.asyncDispose]();
  const gone = await send();
  assert.ok(!gone.ok && gone.retry === 0, JSON.stringify(gone));
});

/** The way from the log to a service that keeps what it is sent, in a time that the test moves. */
function startNotices(
  { storage = createMemoryStorage(), upkeep = [], target, showsContents = false }: {
    readonly storage?: ReturnType<typeof createMemoryStorage>;
    readonly upkeep?: readonly Check[];
    /** A service to send to, instead of keeping what is sent. */
    readonly target?: NoticeTarget;
    readonly showsContents?: boolean;
  } = {},
) {
  const timers = virtualTimers();
  const sent: Record<string, string>[] = [];
  const answers: (() => Response)[] = [];
  const clock = (): number => target ? Date.now() : 1_000_000_000_000 + timers.elapsed();
  const quiet: Log = { write() {}, flush() {} };
  const notices = openNotices(target ?? { url: "http://127.0.0.1:9/", format: "json" }, {
    ...{ storage, showsContents },
    clock,
    timers,
    log: quiet,
    serverUrl: "https://mcp.example.com",
    hasConsole: true,
    nameOfClient: (id) =>
      Promise.resolve(id === "c1" ? "Claude Code" : id === "bad" ? "a\n\u202e\u{e0041}https://x.example" : null),
    upkeep: () => Promise.resolve(upkeep),
    fetch: target ? fetch : ((_url: string, { body }: { body: string }) => {
      const answer = answers.shift()?.() ?? new Response();
      if (answer.ok) sent.push(JSON.parse(body));
      return Promise.resolve(answer);
    }) as unknown as typeof fetch,
  });
  const log = notices.hear(quiet);
  /** Lets everything that is not waiting for the clock run. */
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setTimeout(resolve));
  };
  return {
    ...{ timers, sent, answers, storage, settle, notices },
    check: () => examineNotices({ url: "http://127.0.0.1:9/", format: "json" }, storage, clock),
    async hold(held: string, fields: LogFields = {}) {
      const call = { outcome: "waits", held, tool: "file_edit", user: "ada", client: "c1", ...fields };
      log.write("audit", "held_call", call);
      await settle();
    },
    async write(event: string, fields: LogFields, level: "audit" | "error" = "audit") {
      log.write(level, event, fields);
      await settle();
    },
    async advance(ms: number) {
      timers.advance(ms);
      await settle();
    },
  };
}

Deno.test("a held call says who, which client, what and until when, and links to the very decision", async () => {
  const place = startNotices();
  await place.hold("h1");
  const [told] = place.sent;
  assert.equal(told?.["title"], "Claude Code wants to use file_edit");
  assert.match(told["text"] ?? "", /^For ada\. It waits for approval until \d\d:\d\d UTC \(15 minutes\)\.$/);
  assert.equal(told["url"], "https://mcp.example.com/console/decisions?call=h1");
  assert.deepEqual([told["client"], told["user"], told["tool"]], ["Claude Code", "ada", "file_edit"]);
  await place.hold("h2", { client: "bad" });
  await place.advance(5_000);
  assert.doesNotMatch(place.sent[1]?.["title"] ?? "", /[\n\u202e\u{e0041}]|:\/\//u);
  for (const outcome of ["runs", "approved", "denied", "changed"]) await place.hold("h3", { outcome });
  await place.advance(120_000);
  assert.equal(place.sent.length, 2);
  place.notices.close();
});

Deno.test("new connections, attacks, disks and certificates are told; a stranger's repeats are told once an hour", async () => {
  const upkeep: Check[] = [
    { name: "disk", state: "warning", text: "1 of 100 GB free." },
    { name: "certificate", state: "well", text: "fine" },
  ];
  const place = startNotices({ upkeep });
  const kinds = async () => {
    await place.advance(5_000);
    return place.sent.splice(0).map(({ kind, url }) => `${kind} ${new URL(url ?? "").pathname}`);
  };
  await place.write("consent", { outcome: "allowed", user: "ada", client: "c1" });
  await place.write("consent", { outcome: "denied", user: "ada", client: "c1" });
  assert.deepEqual(await kinds(), ["connection /console/connections"]);
  const reused = { reason: "reused_refresh_token", user: "ada", client: "c1" };
  for (let count = 0; count < 500; count++) {
    place.notices.hear({ write() {}, flush() {} }).write("audit", "grant_revoked", reused);
  }
  await place.settle();
  assert.deepEqual(await kinds(), ["attack /console/activity"]);
  await place.write("audit_chain_changed", { chain: "x" }, "error");
  assert.deepEqual(await kinds(), ["attack /console/activity"]);
  await place.write("token", { outcome: "refused", reason: "reused_refresh_token", client: "c1" });
  assert.deepEqual(await kinds(), [], "the same attack");
  for (const reason of ["replayed_client_assertion", "replayed_identity_assertion", "replayed_code"]) {
    await place.write("token", { outcome: "refused", reason, client: "c1" });
    assert.deepEqual(await kinds(), ["attack /console/activity"], reason);
  }
  await place.write("confirmation", { outcome: "refused", reason: "too_many_attempts", user: "ada" });
  assert.deepEqual(await kinds(), ["attack /console/activity"]);
  const typed = { outcome: "refused", reason: "too_many_attempts" };
  const heard = place.notices.hear({ write() {}, flush() {} });
  for (let name = 0; name < 200; name++) heard.write("audit", "sign_in", { ...typed, user: `typed ${name}` });
  await place.settle();
  assert.deepEqual(await kinds(), ["attack /console/activity"], "one for all names that a stranger types");
  await place.write("grant_revoked", { reason: "signed_out", user: "ada", client: "c1" });
  await place.write("sign_in", { outcome: "refused", reason: "wrong_passphrase" });
  assert.deepEqual(await kinds(), []);
  await place.advance(600_000);
  await place.advance(3_600_000);
  assert.deepEqual(await kinds(), ["upkeep /console"]);
  place.notices.close();
});

Deno.test("in a fleet one instance tells what all of them see", async () => {
  const storage = createMemoryStorage();
  const upkeep: Check[] = [{ name: "certificate", state: "broken", text: "expired" }];
  const fleet = [1, 2, 3].map(() => startNotices({ storage, upkeep }));
  await Promise.all(fleet.map((place) => place.advance(600_000)));
  assert.equal(fleet.flatMap(({ sent }) => sent).length, 1);
  for (const { notices } of fleet) notices.close();
});

Deno.test("a flood becomes one message, however long, and what waits is bounded", async () => {
  const place = startNotices();
  await place.hold("first");
  for (let count = 0; count < 1_000; count++) {
    place.notices.hear({ write() {}, flush() {} }).write("audit", "held_call", { outcome: "waits", held: `h${count}` });
  }
  await place.advance(5_000);
  assert.equal(place.sent.length, 2);
  assert.equal(place.sent[1]?.["title"], "1000 notices");
  assert.equal(place.sent[1]["text"], "100 waiting for approval, 900 more.");
  assert.equal(place.sent[1]["url"], "https://mcp.example.com/console/decisions");
  await place.hold("next");
  await place.advance(30_000);
  assert.equal(place.sent.length, 2, "it is quiet for a minute after one");
  await place.advance(30_000);
  assert.equal(place.sent.length, 3);
  place.notices.close();
});

Deno.test("a failure is told in the console, tried again with back-off, and dropped when it is late", async () => {
  const place = startNotices();
  const refuse = (status: number, headers: Record<string, string> = {}) =>
    place.answers.push(() => new Response(null, { status, headers }));
  refuse(503);
  refuse(429, { "retry-after": "100" });
  await place.hold("h1");
  const failed = await place.check();
  assert.equal(failed.state, "warning");
  assert.match(failed.text, /did not arrive: json at 127\.0\.0\.1:9 answers 503/);
  await place.advance(2_000);
  await place.advance(60_000);
  assert.equal(place.sent.length, 0, "not before the service wants it");
  await place.advance(40_000);
  assert.equal(place.sent.length, 1);
  assert.equal((await place.check()).state, "well");
  for (let count = 0; count < 100; count++) refuse(500);
  await place.hold("late");
  for (let minute = 0; minute < 20; minute++) await place.advance(60_000);
  const left = place.answers.length;
  assert.ok(left > 70, `${100 - left} requests`);
  place.answers.splice(0);
  await place.hold("new");
  await until("the new one", async () => {
    await place.advance(5_000);
    return place.sent.length === 2;
  });
  assert.match(place.sent[1]?.["url"] ?? "", /call=new$/, "the late one is gone");
  place.notices.close();
});
