import assert from "node:assert/strict";
import { searchRecords } from "../../src/servicenow/search.ts";
import { sysId } from "../fixtures/servicenow/world.ts";
import { callerOf, openPlace } from "./place.ts";

Deno.test("read() gives a record with values, display values and its page", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  const found = await place.servicenow.reader.read("incident", sysId("1c", 1), callerOf("owner"));
  assert.ok(found.ok);
  const { fields, selfLink } = found.value;
  assert.equal(fields["number"], "INC0010001");
  assert.deepEqual(fields["state"], { value: "2", display_value: "In Progress" });
  assert.deepEqual(fields["caller_id"], { value: sysId("a1"), display_value: "Ada Lovelace" });
  assert.deepEqual(fields["opened_at"], { value: "2026-03-01 09:30:00", display_value: "2026-03-01 01:30:00" });
  assert.match(String(fields["comments"]), /We are looking into it/);
  assert.equal(selfLink, `${place.instance.origin}/incident.do?sys_id=${sysId("1c", 1)}`);
});

Deno.test("read() takes record numbers as well, in any case", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  for (
    const [kind, number, id] of [
      ["incident", "INC0010001", sysId("1c", 1)],
      ["change_request", "chg0030001", sysId("c4")],
      ["kb_knowledge", "KB0010001", sysId("b7")],
    ] as const
  ) {
    const found = await place.servicenow.reader.read(kind, number, callerOf("owner"));
    assert.equal(found.ok && found.value.fields["sys_id"], id, number);
  }
  const missing = await place.servicenow.reader.read("incident", "INC9999999", callerOf("owner"));
  assert.deepEqual(missing, { ok: false, error: { reason: "not_found" } });
});

Deno.test("read() checks the sys_id before any call", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  for (
    const [kind, id] of [
      ["incident", "1c"],
      ["incident", `${sysId("1c", 1)}0`],
      ["incident", "g".repeat(32)],
      ["incident", `${"1c".repeat(15)}/x`],
      ["incident", "CHG0030001"],
      ["incident", "INC0010001^ORactive=true"],
      ["incident", ""],
      ["kb_knowledge", "KB1"],
      ["catalog", "INC0010001"],
    ] as const
  ) {
    const found = await place.servicenow.reader.read(kind, id, callerOf("owner"));
    assert.equal(!found.ok && found.error.reason, "invalid_record_id", id);
  }
  assert.equal(place.instance.requests.length, 0);
});

Deno.test("me() gives the caller's profile and nothing of how the account is protected", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  const found = await place.servicenow.reader.me(callerOf("owner"));
  assert.ok(found.ok);
  assert.equal(found.value.fields["user_name"], "ada");
  assert.equal(found.value.fields["email"], "ada@example.com");
  assert.equal("user_password" in found.value.fields, false);
  assert.equal("failed_attempts" in found.value.fields, false);
  assert.match(place.instance.requests[0]?.query.get("sysparm_fields") ?? "", /^sys_id,user_name,name,/);
});

Deno.test("read() takes the catalog's 400 for a bad id or a missing right as what it means", async () => {
  await using place = await openPlace();
  await place.link("ben-here", "ben");
  const { reader } = place.servicenow;
  const laptop = await reader.read("catalog", sysId("5c"), callerOf("ben-here"));
  assert.equal(laptop.ok && laptop.value.fields["name"], "Standard Laptop");
  for (const id of [sysId("5d"), sysId("00")]) {
    const found = await reader.read("catalog", id, callerOf("ben-here"));
    assert.deepEqual(found, { ok: false, error: { reason: "not_found" } });
  }
});

Deno.test("two people see different records and fields through the same server", async () => {
  await using place = await openPlace();
  await place.link("one", "ada");
  await place.link("two", "ben");
  const { reader, run } = place.servicenow;
  const bens = await reader.read("incident", sysId("1c", 2), callerOf("two"));
  assert.ok(bens.ok);
  assert.equal("work_notes" in bens.value.fields, false);
  const adas = await reader.read("incident", sysId("1c", 2), callerOf("one"));
  assert.match(String(adas.ok && adas.value.fields["work_notes"]), /Order a new one quietly/);
  assert.deepEqual(await reader.read("incident", sysId("1c", 1), callerOf("two")), {
    ok: false,
    error: { reason: "not_found" },
  });
  assert.deepEqual(await reader.read("change_request", "CHG0030001", callerOf("two")), {
    ok: false,
    error: { reason: "forbidden" },
  });
  const seen = await Promise.all(
    ["one", "two"].map((subject) => run(searchRecords, { table: "incident", limit: 50 }, callerOf(subject))),
  );
  assert.deepEqual(seen.map((page) => page.ok && page.value.records.length), [15, 1]);
  const tokens = new Set(place.instance.requests.map(({ headers }) => headers["authorization"]));
  assert.equal(tokens.size, 2);
});

Deno.test("nobody without a link gets anything, and nothing is asked upstream", async () => {
  await using place = await openPlace();
  await place.link("one", "ada");
  for (const subject of ["two", "one/", "ONE", "one\u0000", "../one"]) {
    const found = await place.servicenow.reader.me(callerOf(subject));
    assert.deepEqual(found, { ok: false, error: { reason: "not_linked" } }, subject);
  }
  assert.equal(place.instance.requests.length, 0);
});
