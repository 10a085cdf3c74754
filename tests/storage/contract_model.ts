/** Random operations, compared with a model in memory that is plain enough to be right. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { Storage, StorageKey } from "../../src/storage/port.ts";
import type { RegisterPromise, StoragePlace } from "./contract.ts";

interface ModelEntry {
  readonly key: StorageKey;
  readonly value: unknown;
  readonly expiresAt: number;
}

const part = fc.string({
  unit: fc.constantFrom("\u0000", "!", "%", "/", "a", "b", "é", "\ue000", "\u{1f600}"),
  minLength: 1,
  maxLength: 2,
});
const key = fc.tuple(part).chain(([first]) =>
  fc.array(part, { maxLength: 2 }).map((rest): StorageKey => [first, ...rest])
);
const ttl = fc.constantFrom(undefined, 1, 3);
const puts = fc.array(fc.record({ key, value: fc.jsonValue({ maxDepth: 1 }), ttl }), { maxLength: 3 });
const operation = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("commit" as const), puts, deletes: fc.array(key) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("consume" as const), key }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("list" as const), prefix: key, after: key, limit: fc.nat(3) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("advance" as const), milliseconds: fc.integer({ min: 1, max: 2 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("sweep" as const) }) },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

function compareKeys(a: StorageKey, b: StorageKey): number {
  for (const [at, part] of a.entries()) {
    const other = b[at];
    if (other === undefined) return 1;
    const points = Array.from(part, (character) => character.codePointAt(0) ?? 0);
    const otherPoints = Array.from(other, (character) => character.codePointAt(0) ?? 0);
    const difference = points.findIndex((point, position) => point !== otherPoints[position]);
    if (difference >= 0) return (points[difference] ?? 0) - (otherPoints[difference] ?? -1);
    if (otherPoints.length > points.length) return -1;
  }
  return a.length - b.length;
}

async function perform(step: Operation, storage: Storage, place: StoragePlace, model: Map<string, ModelEntry>) {
  const live = (entry: ModelEntry | undefined) => entry !== undefined && entry.expiresAt > place.now();
  if (step.kind === "commit") {
    const batch = step.puts.map(({ key, value, ttl }) => ({
      key,
      value,
      ...(ttl === undefined ? {} : { expiresAt: place.now() + ttl }),
    }));
    assert.equal(await storage.commit({ puts: batch, deletes: step.deletes }), true);
    for (const each of batch) model.set(JSON.stringify(each.key), { expiresAt: Infinity, ...each });
    for (const each of step.deletes) model.delete(JSON.stringify(each));
  } else if (step.kind === "consume") {
    const expected = model.get(JSON.stringify(step.key));
    const taken = await storage.consume(step.key);
    assert.equal(taken !== null, live(expected));
    if (taken !== null) {
      assert.deepEqual(taken.value, JSON.parse(JSON.stringify(expected?.value)));
      model.delete(JSON.stringify(step.key));
    }
  } else if (step.kind === "list") {
    const expected = [...model.values()].filter((entry) =>
      live(entry) && entry.key.length > step.prefix.length &&
      step.prefix.every((part, at) => entry.key[at] === part) && compareKeys(entry.key, step.after) > 0
    ).sort((a, b) => compareKeys(a.key, b.key)).slice(0, step.limit + 1);
    const listed = await storage.list(step.prefix, { limit: step.limit + 1, after: step.after });
    assert.deepEqual(listed.map(({ key }) => key), expected.map(({ key }) => key));
  } else if (step.kind === "advance") place.advance(step.milliseconds);
  else {
    const expired = [...model.values()].filter((entry) => !live(entry));
    assert.equal(await storage.sweep(place.now()), expired.length);
    for (const entry of expired) model.delete(JSON.stringify(entry.key));
  }
}

/** Registers the test. */
export function testModel(promise: RegisterPromise): void {
  promise("behaves like a sorted map with expiry under random operations", async (storage, place) => {
    const model = new Map<string, ModelEntry>();
    // One run after another on the same storage: what earlier runs left behind is part of the trial.
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 12 }), async (steps) => {
        for (const step of steps) await perform(step, storage, place, model);
        for (const { key, value, expiresAt } of model.values()) {
          const found = await storage.get(key);
          assert.equal(found !== null, expiresAt > place.now());
          if (found !== null) assert.deepEqual(found.value, JSON.parse(JSON.stringify(value)));
        }
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });
}
