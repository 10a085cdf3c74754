import assert from "node:assert/strict";
import type { ServicenowFailure } from "../../src/servicenow/failure.ts";
import { createRecord } from "../../src/servicenow/write_record.ts";
import { sysId } from "../fixtures/servicenow/world.ts";
import type { FaultName } from "../fixtures/servicenow/faults.ts";
import { inTime, until } from "../fixtures/until.ts";
import { callerOf, openPlace, patientTimes } from "./place.ts";

/** What only a time-out ends; all else gets as long as a busy machine may need. */
const endedByTime: ReadonlySet<FaultName> = new Set<FaultName>(["silence", "slow_body"]);
const unavailable = (because: string) => ({ reason: "unavailable", because });

for (
  const [fault, expected, requests, words] of [
    ["unauthorized", { reason: "link_expired" }, 3, "Authentication expired"],
    ["api_forbidden", { reason: "forbidden" }, 1, "Insufficient permissions"],
    ["query_forbidden", { reason: "forbidden" }, 1, "Insufficient permissions"],
    ["not_found", { reason: "not_found" }, 1, "Record not found"],
    ["invalid_table", { reason: "rejected", message: "Invalid table x_gone" }, 1, "Rejected by ServiceNow"],
    [
      "rate_limited",
      { reason: "rate_limited", by: "servicenow", retryAfterSeconds: 1234 },
      1,
      "Rate limited by ServiceNow",
    ],
    ["hibernating", unavailable("not_an_api"), 1, "ServiceNow unavailable"],
    ["sso_page", unavailable("not_an_api"), 1, "ServiceNow unavailable"],
    ["sso_redirect", unavailable("not_an_api"), 1, "ServiceNow unavailable"],
    ["server_error", unavailable("server_error"), 3, "ServiceNow unavailable"],
    ["bad_gateway", unavailable("server_error"), 3, "ServiceNow unavailable"],
    ["transaction_cancelled", unavailable("server_error"), 1, "ServiceNow unavailable"],
    ["not_json", unavailable("bad_reply"), 1, "ServiceNow unavailable"],
    ["wrong_shape", unavailable("bad_reply"), 1, "ServiceNow unavailable"],
    ["huge_record", { reason: "too_large", limitBytes: 1_048_576 }, 1, "Record too large"],
    ["gzip_bomb", { reason: "too_large", limitBytes: 1_048_576 }, 1, "Record too large"],
    ["reset", unavailable("unreachable"), 3, "ServiceNow unavailable"],
    ["broken_off", unavailable("unreachable"), 3, "ServiceNow unavailable"],
    ["silence", unavailable("timed_out"), 1, "ServiceNow unavailable"],
    ["slow_body", unavailable("timed_out"), 1, "ServiceNow unavailable"],
  ] as const satisfies readonly (readonly [FaultName, unknown, number, string])[]
) {
  Deno.test(`a read says what happened: ${fault}`, async () => {
    await using place = await openPlace();
    await place.link("owner", "ada");
    const times = endedByTime.has(fault) ? { ...patientTimes, requestMs: 1_500 } : patientTimes;
    const { reader } = place.another({ times });
    place.instance.faults.play(fault, { times: 9 });
    const found = await reader.read("incident", sysId("1c", 1), callerOf("owner"));
    assert.deepEqual(found, { ok: false, error: expected });
    // Deno repeats a GET of its own when a connection that it had kept open breaks.
    const repeated = fault === "reset" ? 1 : 0;
    assert.ok([requests, requests + repeated].includes(place.instance.requests.length), "requests upstream");
    const described = place.servicenow.describe(expected as ServicenowFailure);
    assert.equal(described.error, words);
    assert.doesNotMatch(described.detail, /NullPointer|127\.0\.0\.1|java/);
  });
}

Deno.test("a read gets over a fault that passes", async () => {
  for (const fault of ["reset", "broken_off", "bad_gateway", "server_error", "unauthorized"] as const) {
    await using place = await openPlace();
    await place.link("owner", "ada");
    place.instance.faults.play(fault);
    const found = await place.servicenow.reader.read("incident", sysId("1c", 1), callerOf("owner"));
    assert.ok(found.ok, fault);
  }
});

Deno.test("a short Retry-After is waited for (RFC 9110 §10.2.3)", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  place.instance.faults.play("rate_limited_briefly");
  const started = performance.now();
  const found = await place.servicenow.reader.read("incident", sysId("1c", 1), callerOf("owner"));
  assert.ok(found.ok);
  assert.ok(performance.now() - started >= 1_000);
});

Deno.test("a long Retry-After is kept: until then that person's calls end here, and nobody else's", async () => {
  await using place = await openPlace();
  await place.link("one", "ada");
  await place.link("two", "ben");
  const { reader } = place.servicenow;
  place.instance.faults.play("rate_limited");
  await reader.me(callerOf("one"));
  place.advance(1_000);
  assert.deepEqual(await reader.me(callerOf("one")), {
    ok: false,
    error: { reason: "rate_limited", by: "servicenow", retryAfterSeconds: 234 },
  });
  assert.equal(place.instance.requests.length, 1);
  assert.ok((await reader.me(callerOf("two"))).ok);
  place.advance(234);
  assert.ok((await reader.me(callerOf("one"))).ok);
});

Deno.test("each person has a share of calls of their own", async () => {
  await using place = await openPlace();
  await place.link("one", "ada");
  await place.link("two", "ben");
  const left = new Map([["one", 2], ["two", 2]]);
  const { reader } = place.another({
    admit: (subject) => {
      const rest = left.get(subject) ?? 0;
      left.set(subject, rest - 1);
      return rest > 0 ? { ok: true } : { ok: false, retryAfterSeconds: 30 };
    },
  });
  for (const expected of [true, true, false]) assert.equal((await reader.me(callerOf("one"))).ok, expected);
  assert.ok((await reader.me(callerOf("two"))).ok);
  const refused = await reader.me(callerOf("one"));
  assert.deepEqual(refused, {
    ok: false,
    error: { reason: "rate_limited", by: "portcullis", retryAfterSeconds: 30 },
  });
});

Deno.test("a call ends when its caller is gone", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  place.instance.faults.play("silence");
  const controller = new AbortController();
  const pending = place.servicenow.reader.me({ subject: "owner", signal: controller.signal });
  await until("the request", () => place.instance.requests.length > 0);
  controller.abort();
  assert.deepEqual(await pending, { ok: false, error: { reason: "cancelled" } });
});

Deno.test("a call ends in time, whatever it is made of", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  const times = { ...patientTimes, requestMs: 600_000, callMs: 300 };
  const { reader } = place.another({ times });
  const path = `/api/now/table/incident/${sysId("1c", 1)}`;
  for (const silent of [/^\/api\//, /^\/oauth_token/]) {
    place.instance.faults.play("unauthorized", { path: new RegExp(path) });
    place.instance.faults.play("silence", { path: silent, times: 9 });
    const found = await inTime("the end of the call", reader.read("incident", sysId("1c", 1), callerOf("owner")));
    assert.deepEqual(found, { ok: false, error: { reason: "unavailable", because: "timed_out" } });
    place.instance.faults.clear();
  }
  const { run } = place.another({ times: { ...times, callMs: 3_000 } }); // on a busy machine, too, it was sent by then
  place.instance.faults.play("silence", { path: /^\/api\/now\/table\/incident$/ });
  const asked = { table: "incident", values: "short_description=x", dryRun: false };
  const changed = await run(createRecord, asked, callerOf("owner"));
  assert.ok(!changed.ok && changed.error.reason === "unavailable" && changed.error.uncertain === true);
});

Deno.test("an instance that is switched off is unavailable, not an exception", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  await place.instance[Symbol.asyncDispose]();
  const found = await place.servicenow.reader.me(callerOf("owner"));
  assert.deepEqual(found, { ok: false, error: { reason: "unavailable", because: "unreachable" } });
});

Deno.test("no token reaches a host that a redirect or a Link names", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  const asked: string[] = [];
  const { reader } = place.another({
    fetch: (input, init) => {
      asked.push(new URL(String(input)).origin);
      return fetch(input, init);
    },
  });
  place.instance.faults.play("sso_redirect");
  await reader.me(callerOf("owner"));
  assert.deepEqual([...new Set(asked)], [place.instance.origin]);
});

Deno.test("plain http is refused unless it stays on this machine", async () => {
  await using place = await openPlace();
  const open = (instance: string) => () => place.another({ instance });
  assert.throws(open("http://dev.service-now.com"), /must be an https URL/);
  assert.throws(open("http://localhost.evil.example"), /must be an https URL/);
  assert.throws(open("https://user:secret@dev.service-now.com"), /must be an https URL/);
  assert.throws(open("https://dev.service-now.com/path"), /must be an https URL without a path/);
  assert.doesNotThrow(open("https://dev.service-now.com"));
});
