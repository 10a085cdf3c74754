import assert from "node:assert/strict";
import process from "node:process";
import fc from "fast-check";
import { boundedMap } from "../../src/lib/bounded_map.ts";

Deno.test("boundedMap() evicts what was set longest ago, and counts an entry that is set again as new", () => {
  const map = boundedMap<string, number>(2);
  map.set("a", 1).set("b", 2).set("a", 3).set("c", 4);
  assert.deepEqual([...map], [["a", 3], ["c", 4]]);
});

Deno.test("boundedMap() makes room for a new entry only when it is full", () => {
  const map = boundedMap<string, number>(2);
  map.set("a", 1).set("b", 2);
  map.delete("a");
  map.set("c", 3);
  assert.deepEqual([...map.keys()], ["b", "c"]);
  map.clear();
  map.set("d", 4).set("e", 5);
  assert.deepEqual([...map.keys()], ["d", "e"]);
});

Deno.test("boundedMap() reports what it evicts, not what is deleted or replaced", () => {
  const evicted: string[] = [];
  const map = boundedMap<string, string>({
    maxWeight: 5,
    weigh: (text) => text.length,
    onEvict: (value, key) => evicted.push(`${key}=${value}`),
  });
  map.set("a", "12").set("b", "34").set("a", "1").set("c", "6789");
  assert.deepEqual([evicted, [...map]], [["b=34"], [["a", "1"], ["c", "6789"]]]);
  map.delete("a");
  map.set("d", "too long");
  assert.deepEqual([evicted, map.size], [["b=34", "c=6789", "d=too long"], 0]);
});

Deno.test("boundedMap() never weighs more than its bound, whatever is set and deleted", () => {
  const operation = fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 12 }));
  fc.assert(fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
    const map = boundedMap<number, number>({ maxWeight: 10, weigh: (weight) => weight });
    const weight = () => [...map.values()].reduce((sum, each) => sum + each, 0);
    for (const [isSet, key, value] of operations) {
      const before = weight();
      if (!isSet) map.delete(key);
      else {
        const fits = before - (map.get(key) ?? 0) + value <= 10;
        map.set(key, value);
        assert.equal(map.get(key), value <= 10 ? value : undefined);
        if (fits) assert.equal([...map.keys()].at(-1), key);
      }
      assert.ok(weight() <= 10);
    }
  }));
});

Deno.test("boundedMap() keeps what a list keeps that drops its first entries, also after it was not full for long", () => {
  const operation = fc.tuple(fc.constantFrom("set", "set", "delete", "clear"), fc.integer({ min: 0, max: 9 }));
  const phases = fc.array(fc.tuple(fc.integer({ min: 1, max: 40 }), fc.array(operation, { maxLength: 20 })));
  fc.assert(fc.property(phases, (all) => {
    const evicted: number[] = [];
    const map = boundedMap<number, number>({ maxWeight: 4, weigh: () => 1, onEvict: (value) => evicted.push(value) });
    let list: [number, number][] = [];
    const dropped: number[] = [];
    let value = 0;
    const set = (key: number): void => {
      map.set(key, ++value);
      list = [...list.filter(([listed]) => listed !== key), [key, value]];
      if (list.length > 4) dropped.push(list.shift()?.[1] ?? 0);
    };
    for (const [quiet, operations] of all) {
      for (let count = 0; count < quiet && list.length < 4; count++) {
        set(0); // not full: replaced again and again
      }
      for (const [what, key] of operations) {
        if (what === "set") set(key);
        else if (what === "clear") {
          map.clear();
          list = [];
        } else {
          map.delete(key);
          list = list.filter(([listed]) => listed !== key);
        }
        assert.deepEqual([...map], list);
      }
    }
    assert.deepEqual(evicted, dropped);
  }));
});

Deno.test("boundedMap() evicts from a large map at about the cost of a small one", () => {
  const evictions = 60_000;
  const cost = (size: number): number => {
    const map = boundedMap<number, number>(size);
    let key = 0;
    while (map.size < size) map.set(key++, 0);
    let least = Infinity;
    for (let measured = 0; measured < 3; measured++) {
      const before = process.cpuUsage();
      for (let count = 0; count < evictions; count++) map.set(key++, 0);
      const { user, system } = process.cpuUsage(before);
      least = Math.min(least, user + system);
    }
    return least;
  };
  const [small, large] = [cost(600), cost(60_000)];
  assert.ok(large <= 10 * small, `${large} us, and ${small} with a hundredth of the entries`);
});
