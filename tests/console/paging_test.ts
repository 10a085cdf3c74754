import assert from "node:assert/strict";
import { pageOf } from "../../src/console/pages/section.ts";

const visitAt = (query: string) =>
  ({
    query: new URLSearchParams(query),
    href: (_section, values) => String(new URLSearchParams(values)),
  }) as Parameters<typeof pageOf>[1];

Deno.test("the pages of a list join to the whole of it", () => {
  const all = ["a", "b", "c", "d", "e"];
  const options = {
    ...{ section: "people", name: "after", words: "More", size: 2 },
    cursorOf: (element: string) => element,
  };
  const pages: (readonly string[])[] = [];
  for (let query: string | null = ""; query !== null;) {
    const { shown, next }: ReturnType<typeof pageOf<string>> = pageOf(all, visitAt(query), options);
    pages.push(shown);
    query = next === null ? null : /href="([^"]+)"/.exec(next.markup)?.[1] ?? assert.fail(next.markup);
  }
  assert.deepEqual(pages, [["a", "b"], ["c", "d"], ["e"]]);
});
