/** Two hundred injections, each in every parameter that it is aimed at, in the name of an employee without a role. */
import assert from "node:assert/strict";
import { sysId } from "../../fixtures/servicenow/world.ts";
import type { Habits } from "../../fixtures/servicenow/habits.ts";
import { openDesk } from "../desk/desk_place.ts";
import { places } from "./places.ts";
import { attacksOnNames } from "./name_texts.ts";
import { attacksOnQueries } from "./query_texts.ts";
import {
  assertAskedNothingStrange,
  assertChangedOnlyOwn,
  assertShowsNothingHidden,
  hiddenFrom,
  snapshot,
} from "./watch.ts";

const attacks = [...attacksOnQueries, ...attacksOnNames];

const otherWay: Partial<Habits> = {
  ...{ invalidQuery: "no_rows", unreadableCondition: "ignored", totalCount: "after_acl", metadata: "admin_only" },
  ...{ journalTable: "admin_only", referenceByName: "resolved", wordsInInteger: "emptied", checkout: "two_step" },
};

Deno.test("there are two hundred injections, each of another text", () => {
  const all = attacks.flatMap(({ aim, texts }) => texts.map((text) => `${aim} ${text}`));
  assert.ok(all.length >= 200, `${all.length}`);
  assert.equal(new Set(all).size, all.length);
});

for (const [way, habits] of Object.entries({ usual: {}, other: otherWay })) {
  for (const { aim, texts } of attacks) {
    Deno.test(`no text in a parameter reads or writes more than the person may: ${aim}, ${way} instance`, async () => {
      await using desk = await openDesk({ people: ["ben"], instance: { data: "desk", habits } });
      await Deno.writeTextFile(`${desk.root}/a.txt`, "a");
      await Deno.writeTextFile(`${desk.root}/a.constructor`, "a");
      const hidden = hiddenFrom(desk, "ben");
      assert.ok(hidden.numbers.size > 100 && hidden.texts.length > 10);
      for (const text of texts) {
        const before = snapshot(desk);
        for (const [tool, input] of places[aim]) {
          const given = input(text, desk);
          assertShowsNothingHidden(await desk.text(tool, given, "ben"), given, hidden);
        }
        assertAskedNothingStrange(desk);
        assertChangedOnlyOwn(before, snapshot(desk), sysId("b2"), "ben");
        desk.instance.requests.length = 0;
      }
    });
  }
}
