/** What a listener hears of files that a rule keeps from it. */
import assert from "node:assert/strict";
import { placeOfResource } from "../../src/app/approval.ts";
import { gateResources } from "../../src/console/approvals/gate_resources.ts";
import type { RuleStore } from "../../src/console/approvals/rule.ts";
import { workspaceFilesResource } from "../../src/files/tools/workspace_files.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import type { WorkspaceChange, WorkspaceWatches } from "../../src/files/workspace/watch.ts";
import { principalOf } from "../servicenow/principal.ts";

Deno.test("that files come and go where a rule asks or refuses is no news, in company of open ones it is", async () => {
  let tell: (change: WorkspaceChange) => void = () => assert.fail("nothing listens");
  const watches: WorkspaceWatches = {
    watch(_principal, listener) {
      tell = listener;
      return () => {};
    },
    close: () => Promise.resolve(),
  };
  for (const verdict of ["ask", "deny"]) {
    for (
      const [names, isPartial, isTold] of [
        [["secret/new.txt"], false, false],
        [["secret", "secret/a", "secret/b"], false, false],
        [["secret/new.txt", "open/new.txt"], false, true],
        [["open/new.txt"], false, true],
        [[], true, true], // unknown what
      ] as const
    ) {
      const rules = { current: [{ id: "r", verdict, place: "secret" }] } as unknown as RuleStore;
      const gated = gateResources(workspaceFilesResource({} as Workspace, watches), {
        ...{ rules, clock: Date.now, pageUrl: null, tool: "file_read", placeOf: placeOfResource },
        isPath: () => true,
        findTrueNames: () => Promise.resolve([]),
      });
      const heard = Promise.withResolvers<boolean>();
      gated.watch?.(principalOf("ada"), ({ isListChanged }) => heard.resolve(isListChanged));
      const paths = names.map((text) => ({ text, segments: text.split("/") }));
      tell({ paths, isPartial, isListChanged: true });
      assert.equal(await heard.promise, isTold, `${verdict} ${names}`);
    }
  }
});
