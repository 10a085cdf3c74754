import assert from "node:assert/strict";
import fc from "fast-check";
import { hasMoreParts } from "../../src/lib/json.ts";
import { parseClientMetadata } from "../../src/oauth/register.ts";
import { parseAnswer } from "../../src/mcp/question.ts";
import { toSearchCursor, toSearchCursorText, toWalkCursor, toWalkCursorText } from "../../src/files/tools/input.ts";

Deno.test("hasMoreParts() counts every value of a JSON text, at any depth", () => {
  const partsOf = (value: unknown): number =>
    typeof value === "object" && value !== null
      ? Object.values(value).reduce<number>((sum, part) => sum + partsOf(part), 1)
      : 1;
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(20), (value, limit) => {
      assert.equal(hasMoreParts(value, limit), typeof value === "object" && value !== null && partsOf(value) > limit);
    }),
    { numRuns: 2_000 },
  );
  const deep = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
  assert.equal(hasMoreParts(deep, 99_999), true);
  assert.equal(hasMoreParts(deep, 100_000), false);
});

Deno.test("answers, registrations and cursors of a megabyte of wrong items are refused before a schema explains each", () => {
  const many = Array(300_000).fill(0);
  const wide = Object.fromEntries(many.map((_, index) => [index, {}]));
  assert.equal(parseAnswer({ method: "roots/list" }, { roots: many }), null);
  const form = { type: "object", properties: {} } as const;
  const asked = { method: "elicitation/create", params: { message: "?", requestedSchema: form } } as const;
  assert.equal(parseAnswer(asked, { action: "accept", content: wide }), null);
  assert.equal(parseClientMetadata({ redirect_uris: many }), null);
  assert.equal(toWalkCursor("t", btoa(JSON.stringify(["t", true, ...many])).replaceAll("=", "")), "unknown");
});

Deno.test("the longest cursors that a listing and a search give are taken", () => {
  const segments = Array.from({ length: 64 }, () => "\u0001".repeat(255));
  const walk = { segments, isDirectory: true };
  assert.deepEqual(toWalkCursor("t", toWalkCursorText("t", walk)), walk);
  const search = { finished: walk, partial: { segments, line: 7, version: "v" } };
  assert.deepEqual(toSearchCursor("t", toSearchCursorText("t", search)), search);
});
