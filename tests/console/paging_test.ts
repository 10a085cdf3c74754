import assert from "node:assert/strict";
import { pageOf } from "../../src/console/pages/section.ts";

const visitAt = (query: string) =>
  ({
    query: new URLSearchParams(query),
    href: (_section, values) => String(new URLSearchParams(values)),
  }) as Parameters<typeof pageOf>[1];

Deno.test("a page ends before what is too much, has one element at least, and its pages join to the whole list", () => {
  const all = ["a50", "b50", "c500", "d10", "e10", "f10"];
  const options = {
    ...{ section: "people", name: "after", words: "More", size: 2, maxWeight: 100 },
    weigh: (element: string) => Number(element.slice(1)),
    cursorOf: (element: string) => element,
  };
  const pages: (readonly string[])[] = [];
  for (let query: string | null = ""; query !== null;) {
    const { shown, next }: ReturnType<typeof pageOf<string>> = pageOf(all, visitAt(query), options);
    pages.push(shown);
    query = next === null ? null : /href="([^"]+)"/.exec(next.markup)?.[1] ?? assert.fail(next.markup);
  }
  assert.deepEqual(pages, [["a50", "b50"], ["c500"], ["d10", "e10"], ["f10"]]);
});
