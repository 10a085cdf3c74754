import assert from "node:assert/strict";
import fc from "fast-check";
import { nextOffset } from "../../src/servicenow/search.ts";
import { buildQuery, toQueryValue } from "../../src/servicenow/search_query.ts";
import { tables } from "../../src/servicenow/tables.ts";
import { parseEncodedQuery } from "../fixtures/servicenow/query/parse.ts";
import { callerOf, openPlace } from "./place.ts";

Deno.test("search() filters by field, by text and by person", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  const numbers = async (request: Parameters<typeof place.servicenow.search>[1]): Promise<unknown> => {
    const page = await place.servicenow.search("incident", request, callerOf("owner"));
    return page.ok ? page.value.records.map(({ fields }) => fields["number"]) : page.error;
  };
  const page = { limit: 10, offset: 0 };
  assert.deepEqual(await numbers({ ...page, filters: { priority: "1" } }), ["INC0010001"]);
  assert.deepEqual(await numbers({ ...page, filters: {}, text: "EMAIL server" }), ["INC0010001"]);
  assert.deepEqual(await numbers({ ...page, filters: { caller: "ben" } }), ["INC0010002"]);
  assert.deepEqual(await numbers({ ...page, filters: { caller: "Ben Bitdiddle" } }), ["INC0010002"]);
  assert.deepEqual(await numbers({ ...page, filters: { assigned_to: "me" } }), ["INC0010001"]);
  assert.deepEqual(await numbers({ ...page, filters: { assignment_group: "Network" } }), ["INC0010001"]);
  assert.deepEqual(await numbers({ ...page, filters: { active: "true", category: "hardware" } }), ["INC0010002"]);
  assert.deepEqual(
    await numbers({ ...page, filters: {}, updatedAfter: "2026-03-02", updatedBefore: "2026-03-03T10:00:00Z" }),
    ["INC0010003", "INC0010002"],
  );
  assert.deepEqual(
    await numbers({ limit: 2, offset: 0, filters: {}, orderBy: "number", descending: false }),
    ["INC0010001", "INC0010002"],
  );
});

Deno.test("search() finds a caret, and a value cannot become a query", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  const found = async (text: string): Promise<number> => {
    const page = await place.servicenow.search(
      "incident",
      { filters: {}, text, limit: 50, offset: 0 },
      callerOf("owner"),
    );
    assert.ok(page.ok);
    return page.value.records.length;
  };
  assert.equal(await found("Rebooted ^ twice"), 1);
  for (
    const text of ["x^ORactive=true", "x^NQactive=true", "x^^NQactive=true", "x\n^NQactive=true", "^ORDERBYnumber"]
  ) {
    assert.equal(await found(text), 0, text);
  }
});

Deno.test("search() refuses what an instance would run as a script, before any call", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  for (const value of ["javascript:gs.getUserID()", " JavaScript : gs.x()", "\u200bjavascript:1", "\njavascript:1"]) {
    const page = await place.servicenow.search(
      "incident",
      { filters: { category: value }, limit: 1, offset: 0 },
      callerOf("owner"),
    );
    assert.deepEqual(page, {
      ok: false,
      error: { reason: "invalid_input", message: "category must not be a script" },
    });
  }
  assert.equal(place.instance.requests.length, 0);
});

Deno.test("search() refuses fields, filters and orders that a table does not offer", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  const refuse = async (request: object, expected: RegExp): Promise<void> => {
    const whole = { filters: {}, limit: 1, offset: 0, ...request };
    const page = await place.servicenow.search("catalog", whole, callerOf("owner"));
    assert.ok(!page.ok && page.error.reason === "invalid_input");
    assert.match(page.error.message, expected);
  };
  await refuse({ fields: ["name", "caller_id.user_password"] }, /no readable field caller_id\.user_password/);
  await refuse({ filters: { priority: "1" } }, /cannot be filtered by priority; use category, active/);
  await refuse({ orderBy: "number" }, /cannot be ordered by number/);
  await refuse({ updatedAfter: "javascript:gs.daysAgo(1)" }, /updated_after must be a date/);
  await refuse({ text: "x".repeat(201) }, /text must have at most 200 characters/);
  await refuse({ text: " \n " }, /text must not be empty/);
  assert.equal(place.instance.requests.length, 0);
});

Deno.test("search() pages by the Link header, whatever the access rules leave of a page", async () => {
  await using place = await openPlace();
  await place.link("ben-here", "ben");
  const sizes: number[] = [];
  let offset: number | null = 0;
  while (offset !== null) {
    const page = await place.servicenow.search(
      "incident",
      { filters: {}, limit: 4, offset },
      callerOf("ben-here"),
    );
    assert.ok(page.ok);
    assert.equal(page.value.total, 15);
    sizes.push(page.value.records.length);
    offset = page.value.nextOffset;
  }
  assert.deepEqual(sizes, [0, 0, 0, 1]);
});

Deno.test("nextOffset() takes the offset of the instance's own next page and nothing else (RFC 8288)", () => {
  const instance = { origin: "https://dev.service-now.com" };
  const page = `${instance.origin}/api/now/table/incident?sysparm_limit=2&sysparm_offset=`;
  for (
    const [link, expected] of [
      [null, null],
      [`<${page}0>;rel="first",<${page}4>;rel="next",<${page}8>;rel="last"`, 4],
      [`<${page}4>; rel=next`, 4],
      [`<${page}0>;rel="first",<${page}8>;rel="last"`, null],
      [`<${page}2>;rel="next"`, null],
      [`<${page}-4>;rel="next"`, null],
      [`<https://evil.example/?sysparm_offset=4>;rel="next"`, null],
      [`<${page}4`, null],
    ] as const
  ) assert.equal(nextOffset(link, instance, 2), expected, link ?? "null");
});

Deno.test("toQueryValue() gives one term whatever the text (property)", () => {
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 100 }), fc.string({ maxLength: 20 }), (left, right) => {
    const value = toQueryValue(`${left}^${right}`);
    if (!value.ok) return;
    const { groups, order } = parseEncodedQuery(`active=true^short_descriptionLIKE${value.value}^ORDERBYnumber`);
    assert.equal(groups.length, 1);
    assert.equal(groups[0]?.length, 2);
    assert.equal(groups[0]?.[1]?.length, 1);
    assert.equal(order.length, 1);
  }));
});

Deno.test("buildQuery() binds alternatives to their own term", () => {
  const query = buildQuery(tables.incident, { text: "mail", filters: { caller: "ada", active: "true" } });
  assert.deepEqual(query, {
    ok: true,
    value: "short_descriptionLIKEmail^ORdescriptionLIKEmail^caller_id.user_name=ada^ORcaller_id.name=ada" +
      "^active=true^ORDERBYDESCsys_updated_on",
  });
});
