import assert from "node:assert/strict";
import { sysId } from "../fixtures/servicenow/world.ts";
import { callerOf, openPlace, patientTimes } from "./place.ts";

Deno.test("addComment() writes in the caller's name and says whether the instance shows it", async () => {
  await using place = await openPlace();
  await place.link("one", "ada");
  await place.link("two", "ben");
  const { changes } = place.servicenow;
  const text = "It is back.\nThank you.";
  const added = await changes.addComment("incident", "INC0010001", { field: "work_notes", text }, callerOf("one"));
  assert.equal(added.ok && added.value.confirmed, true);
  assert.deepEqual(place.instance.journal(sysId("1c", 1), "work_notes"), ["Disk full on mx-01.", text]);

  // An employee's work note is dropped by the instance without a word.
  const dropped = await changes.addComment(
    "incident",
    sysId("1c", 2),
    { field: "work_notes", text: "secret" },
    callerOf("two"),
  );
  assert.equal(dropped.ok && dropped.value.confirmed, false);
  const foreign = await changes.addComment(
    "incident",
    sysId("1c", 1),
    { field: "comments", text: "hello" },
    callerOf("two"),
  );
  assert.deepEqual(foreign, { ok: false, error: { reason: "not_found" } });
});

Deno.test("createIncident() opens it for the caller", async () => {
  await using place = await openPlace();
  await place.link("two", "ben");
  const created = await place.servicenow.changes.createIncident(
    { shortDescription: "The screen flickers", urgency: "3" },
    callerOf("two"),
  );
  assert.ok(created.ok);
  assert.equal(created.value.fields["number"], "INC0010016");
  assert.deepEqual(created.value.fields["caller_id"], { value: sysId("b2"), display_value: "Ben Bitdiddle" });
  assert.equal(place.instance.tables.get("incident")?.get(created.value.sysId)?.["urgency"], "3");
});

Deno.test("a change is sent once, and an answer that did not come is called uncertain", async () => {
  for (const fault of ["reset", "silence", "broken_off", "bad_gateway", "server_error"] as const) {
    await using place = await openPlace();
    await place.link("owner", "ada");
    place.instance.faults.play(fault, { times: 9 });
    const { changes } = place.another({
      times: { ...patientTimes, ...fault === "silence" ? { requestMs: 400 } : {} },
    });
    const created = await changes.createIncident({ shortDescription: "Once" }, callerOf("owner"));
    assert.ok(!created.ok && created.error.reason === "unavailable", fault);
    assert.equal(created.error.uncertain, true, fault);
    assert.match(place.servicenow.describe(created.error).detail, /not known whether the change was saved/);
    assert.equal(place.instance.requests.length, 1, fault);
  }
});

Deno.test("a change whose token was ended before its time is sent again with a new one", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  place.instance.oauth.endAccessTokens();
  const created = await place.servicenow.changes.createIncident({ shortDescription: "Again" }, callerOf("owner"));
  assert.ok(created.ok);
  assert.equal(place.instance.tables.get("incident")?.size, 16);
});

Deno.test("changes refuse empty and overlong text before any call", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  const { changes } = place.servicenow;
  for (const text of [" \n", "x".repeat(20_001)]) {
    const added = await changes.addComment("incident", "INC0010001", { field: "comments", text }, callerOf("owner"));
    assert.equal(!added.ok && added.error.reason, "invalid_input");
    const created = await changes.createIncident({ shortDescription: text }, callerOf("owner"));
    assert.equal(!created.ok && created.error.reason, "invalid_input");
  }
  assert.equal(place.instance.requests.length, 0);
});

Deno.test("attachments are listed, fetched and added under the caller's rights", async () => {
  await using place = await openPlace();
  await place.link("one", "ada");
  await place.link("two", "ben");
  const { attachments } = place.servicenow;
  const listed = await attachments.list("incident", "INC0010001", callerOf("one"));
  assert.deepEqual(listed, {
    ok: true,
    value: [{ sysId: sysId("af"), fileName: "mx-01.log", contentType: "text/plain", sizeBytes: 22 }],
  });
  const fetched = await attachments.fetch(sysId("af"), callerOf("one"));
  assert.equal(fetched.ok && new TextDecoder().decode(fetched.value.bytes), "mx-01: disk 100% full\n");
  assert.deepEqual(await attachments.fetch(sysId("af"), callerOf("two")), {
    ok: false,
    error: { reason: "not_found" },
  });
  const page = { fileName: "a page.html", contentType: "text/html", bytes: new TextEncoder().encode("<html></html>") };
  const added = await attachments.add("incident", "INC0010002", page, callerOf("two"));
  assert.ok(added.ok);
  const back = await attachments.fetch(added.value.sysId, callerOf("two")); // a page, but one that was asked for
  assert.equal(back.ok && new TextDecoder().decode(back.value.bytes), "<html></html>");
});

Deno.test("attachments over the limit are neither fetched nor sent", async () => {
  await using place = await openPlace();
  await place.link("one", "ada");
  const { attachments } = place.servicenow;
  place.instance.changeAttachment(sysId("af"), { size_bytes: "1048577" });
  assert.deepEqual(await attachments.fetch(sysId("af"), callerOf("one")), {
    ok: false,
    error: { reason: "too_large", limitBytes: 1_048_576 },
  });
  assert.equal(place.instance.requests.some(({ path }) => path.endsWith("/file")), false);
  const file = { fileName: "a.bin", contentType: "application/octet-stream", bytes: new Uint8Array(1_048_577) };
  const added = await attachments.add("incident", sysId("1c", 1), file, callerOf("one"));
  assert.equal(!added.ok && added.error.reason, "too_large");
});
