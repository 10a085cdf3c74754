import assert from "node:assert/strict";
import { servicenowAttachTool, workspaceFiles } from "../../../src/servicenow/attach_tool.ts";
import type { ToolContext } from "../../../src/mcp/tool.ts";
import { openDiskWorkspace } from "../../../src/files/disk/disk_workspace.ts";
import { defaultWorkspaceLimits } from "../../../src/files/workspace/port.ts";
import { principalOf } from "../principal.ts";
import { openDesk } from "./desk_place.ts";

Deno.test("files on their way to ServiceNow are in memory two at once, and one of each person; who gives up holds no turn", async () => {
  await using desk = await openDesk({ people: ["ada", "ben", "eve"], instance: { data: "desk" } });
  await Deno.writeTextFile(`${desk.root}/note.txt`, "a note");
  const workspace = openDiskWorkspace({ root: desk.root, limits: defaultWorkspaceLimits });
  const files = workspaceFiles(() => workspace);
  const held: string[] = [];
  const seen: (readonly string[])[] = [];
  const { servicenow } = desk.place;
  const run: typeof servicenow.run = async (job, request, caller) => {
    const answer = await servicenow.run(job, request, caller);
    if ((request as { file: unknown }).file !== null) held.splice(held.indexOf(caller.subject), 1);
    return answer;
  };
  const tool = servicenowAttachTool({ ...servicenow, run }, {
    ...files,
    read(file, principal) {
      held.push(principal.subject);
      seen.push([...held]);
      return files.read(file, principal);
    },
  });
  const attach = async (userName: string, input: object = {}, signal = new AbortController().signal) => {
    const context: Pick<ToolContext, "principal" | "signal"> = { principal: principalOf(userName), signal };
    const request = { id: "INC0010016", filename: "note.txt", dry_run: false, ...input };
    return await tool.run(request as never, context as ToolContext);
  };
  const leaving = new AbortController();
  const calls = ["ada", "ada", "ada", "eve", "eve", "ada"].map((name) => attach(name));
  const given = attach("ada", {}, leaving.signal);
  leaving.abort();
  const gaveUp = await given;
  assert.equal(gaveUp.ok, false);
  for (const outcome of await Promise.all(calls)) assert.ok(outcome.ok, JSON.stringify(outcome));
  assert.equal(seen.length, calls.length, "every file was read, that of the call that was given up was not");
  for (const each of seen) {
    assert.ok(each.length <= 2 && new Set(each).size === each.length, each.join(", "));
  }
  const tried = await attach("ada", { dry_run: true });
  assert.ok(tried.ok && JSON.stringify(tried.content).includes("INC0010016 would get note.txt (6 bytes)"));
  assert.equal(seen.length, calls.length, "a dry run reads nothing");
  await workspace.close();
});
