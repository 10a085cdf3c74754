import assert from "node:assert/strict";
import { isTooDeep, type JsonSchema, schemaProblem } from "../../src/tools/llm/schema.ts";
import { checkAgainstSchema } from "../../src/tools/llm/schema_check.ts";

const person: JsonSchema = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, maxLength: 3 },
    age: { type: "integer", minimum: 0, exclusiveMaximum: 150 },
    tags: { type: "array", items: { enum: ["a", "b"] }, maxItems: 2, uniqueItems: true },
    "a/b": { type: ["string", "null"] },
  },
  required: ["age"],
  additionalProperties: false,
};
const tree: JsonSchema = {
  $ref: "#/$defs/node",
  $defs: {
    node: {
      type: "object",
      properties: { next: { $ref: "#/$defs/node" }, value: { type: "number" } },
      required: ["value"],
    },
  },
};

Deno.test("checkAgainstSchema() accepts what follows the schema and names the first place that does not", () => {
  const rows: readonly (readonly [schema: JsonSchema, value: unknown, fault: string | null])[] = [
    [person, { age: 3, name: "Ann", tags: ["a"], "a/b": null }, null],
    [person, [], ": has to be object"],
    [person, {}, ': lacks "age"'],
    [person, { age: 3.5 }, "/age: has to be integer"],
    [person, { age: -1 }, "/age: violates minimum"],
    [person, { age: 150 }, "/age: violates exclusiveMaximum"],
    [person, { age: 1, name: "Anna" }, "/name: violates maxLength"],
    [person, { age: 1, name: "😀😀😀" }, null],
    [person, { age: 1, tags: ["c"] }, "/tags/0: is not in the enum"],
    [person, { age: 1, tags: ["a", "a"] }, "/tags: repeats an item"],
    [person, { age: 1, tags: ["a", "b", "a"] }, "/tags: repeats an item"],
    [person, { age: 1, "a/b": 2 }, "/a~1b: has to be string or null"],
    [person, { age: 1, more: 2 }, "/more: nothing is allowed here"],
    [person, { age: 1, toString: 2 }, "/toString: nothing is allowed here"],
    [tree, { value: 1, next: { value: 2, next: { value: "x" } } }, "/next/next/value: has to be number"],
    [{ anyOf: [{ type: "string" }, { type: "number" }] }, true, ": no alternative of anyOf fits"],
    [{ oneOf: [{ type: "integer" }, { type: "number" }] }, 1, ": exactly one alternative of oneOf has to fit"],
    [{ oneOf: [{ type: "integer" }, { type: "number" }] }, 1.5, null],
    [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, 3, ": violates maximum"],
    [{ not: { type: "string" } }, "x", ": this is excluded by not"],
    [{ const: { a: 1, b: [2] } }, { b: [2], a: 1 }, null],
    [{ const: { a: 1 } }, { a: 2 }, ": is not the const"],
    [{ prefixItems: [{ type: "string" }], items: { type: "number" } }, ["a", 1, "b"], "/2: has to be number"],
    [{ items: [{ type: "string" }] }, ["a", 1], null],
    [{ multipleOf: 0.1 }, 0.3, null],
    [{ multipleOf: 2 }, 3, ": violates multipleOf"],
    [{ minProperties: 1 }, {}, ": violates minProperties"],
    [{ type: "string", pattern: "^(a+)+$", format: "email" }, "aaaa!", null], // neither is run
    [{ type: "null" }, null, null],
    [{ type: "boolean" }, "true", ": has to be boolean"],
  ];
  for (const [schema, value, fault] of rows) {
    assert.equal(schemaProblem(schema), null, JSON.stringify(schema));
    const checked = checkAgainstSchema(schema, value);
    assert.equal(checked.ok ? null : checked.error, fault, JSON.stringify([schema, value]));
  }
});

Deno.test("checkAgainstSchema() gives up after so many steps, whatever schema and answer it is given", () => {
  const branches: Record<string, unknown> = { l30: { type: "string" } };
  for (let level = 0; level < 30; level++) {
    const next = { $ref: `#/$defs/l${level + 1}` };
    branches[`l${level}`] = { anyOf: [next, next] };
  }
  const big = Array.from({ length: 20_000 }, (_, index) => ({ index }));
  const cases: readonly (readonly [JsonSchema, unknown])[] = [
    [{ $ref: "#/$defs/l0", $defs: branches }, 1],
    [{ $ref: "#" }, 1],
    [{ anyOf: [{ $ref: "#" }, { $ref: "#" }] }, 1],
    [{ items: { enum: big } }, big],
    [{ items: { const: big } }, Array.from({ length: 100 }, () => big)],
    [{ allOf: Array.from({ length: 5000 }, () => ({ uniqueItems: true })) }, big],
    [{ allOf: Array.from({ length: 5000 }, () => ({ minLength: 1 })) }, "x".repeat(1_000_000)],
    [{ items: { type: [...Array(99_999).fill("string"), "number"] } }, Array(100_000).fill(1)],
    [
      { items: { $ref: `#/$defs/${"k".repeat(100_000)}` }, $defs: { ["k".repeat(100_000)]: {} } },
      Array(100_000).fill(1),
    ],
    [{ allOf: Array.from({ length: 9000 }, () => ({ properties: {} })) }, { ["k".repeat(1_000_000)]: 1 }],
    [
      {
        allOf: Array.from({ length: 9000 }, () => ({ $ref: "#/$defs/same" })),
        $defs: { same: { const: "x".repeat(500_000) } },
      },
      `${"x".repeat(499_999)}${["x"].join("")}`,
    ],
  ];
  for (const [schema, value] of cases) {
    const checked = checkAgainstSchema(schema, value);
    assert.match(checked.ok ? "" : checked.error, /too long/);
  }
});

Deno.test("schemaProblem() refuses what could not be checked", () => {
  const rows: readonly (readonly [JsonSchema, RegExp])[] = [
    [{ type: "nonsense" }, /JSON types/],
    [{ type: ["string", 7] }, /JSON types/],
    [{ properties: { a: { if: {}, then: {} } } }, /cannot check `if`/],
    [{ items: [{ patternProperties: {} }] }, /cannot check `patternProperties`/],
    [{ $ref: "https://example.com/schema.json" }, /same schema/],
    [{ $ref: "#/$defs/missing" }, /same schema/],
    [{ $ref: "#/__proto__/x" }, /same schema/],
    [{ anyOf: [1] }, /object or a boolean/],
    [{ anyOf: Array.from({ length: 79_000 }, () => ({ items: [] })) }, /more than 10000 parts/],
    [{ properties: Object.fromEntries(Array.from({ length: 79_000 }, (_, key) => [key, {}])) }, /10000 parts/],
    [{ allOf: Array.from({ length: 200 }, () => ({ items: Array(200).fill(true) })) }, /10000 parts/],
    [JSON.parse('{"items":'.repeat(200) + "{}" + "}".repeat(200)), /nested too deeply/],
    [JSON.parse(`{"const":${"[".repeat(5000)}${"]".repeat(5000)}}`), /nested too deeply/],
  ];
  for (const [schema, problem] of rows) assert.match(schemaProblem(schema) ?? "", problem);
  assert.equal(isTooDeep(JSON.parse(`${"[".repeat(100)}${"]".repeat(100)}`)), false);
});
