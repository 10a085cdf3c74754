/** What a listener hears of files that a rule keeps from it. */
import assert from "node:assert/strict";
import { placeOfResource } from "../../src/app/approval.ts";
import { gateResources } from "../../src/console/approvals/gate.ts";
import type { RuleStore } from "../../src/console/approvals/rule.ts";
import { mcpLimits } from "../../src/mcp/limits.ts";
import { createResourceRegistry, createResourceWatch, type ResourceFamily } from "../../src/mcp/resource.ts";
import { timeTurnsBy } from "../../src/lib/turns.ts";
import { until } from "../fixtures/until.ts";
import { virtualTimers } from "../fixtures/virtual_timers.ts";
import { principalOf } from "../servicenow/principal.ts";

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("that files change, come and go where a rule asks or refuses is no news, in company of open ones it is", async () => {
  timeTurnsBy(() => 0); // no look has to wait for its turn
  using _turns = { [Symbol.dispose]: () => timeTurnsBy(() => performance.now()) };
  for (const verdict of ["ask", "deny"]) {
    for (
      const [names, told] of [
        [["secret/new.txt"], []],
        [["secret", "secret/a", "secret/b"], []],
        [["secret/new.txt", "open/new.txt"], ["list", "workspace:///open/new.txt"]],
        [["open/new.txt"], ["list", "workspace:///open/new.txt"]],
      ] as const
    ) {
      const files = new Map<string, number>();
      const family: ResourceFamily = {
        ...{ name: "files", scopes: [], owns: () => true, list: () => [], templates: [], read: () => null },
        cacheHint: { ttlMs: 0, cacheScope: "private" },
        listPage: () => Promise.resolve({ resources: [...files.keys()].map((uri) => ({ uri, name: uri })) }),
        listTop: () => Promise.resolve([...files.keys()].map((uri) => ({ uri, name: "new" }))),
        stamp: (uri) => Promise.resolve(`${files.get(uri)}`),
      };
      const rules = { current: [{ id: "r", verdict, place: "secret" }] } as unknown as RuleStore;
      const gated = gateResources(family, {
        ...{ rules, clock: Date.now, pageUrl: null, tool: "file_read", placeOf: placeOfResource },
        isPath: () => true,
        findTrueNames: () => Promise.resolve([]),
      });
      const timers = virtualTimers();
      const log = { write() {}, flush() {} };
      const watch = createResourceWatch(createResourceRegistry([gated]), { timers, log, limits: mcpLimits });
      const heard: string[] = [];
      const uris = names.map((name) => `workspace:///${name}`);
      const { stop } = watch(principalOf("ada"), { uris, lists: true }, {
        onChange: (uri) => heard.push(uri),
        onList: () => heard.push("list"),
      });
      await settle();
      for (const uri of uris) files.set(uri, 1); // on top, too
      timers.advance(2_000);
      await until("what is told is heard", () => heard.length >= told.length);
      await settle(); // and no more
      assert.deepEqual(heard.sort(), told, `${verdict} ${names}`);
      stop();
    }
  }
});
