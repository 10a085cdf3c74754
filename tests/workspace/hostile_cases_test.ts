/** Every row of hostile_cases.ts against the file tools: nothing outside is read, changed or told. */
import assert from "node:assert/strict";
import type { ToolOutcome } from "../../src/mcp/tool.ts";
import { fileListTool } from "../../src/tools/file_list.ts";
import { fileReadTool } from "../../src/tools/file_read.ts";
import { fileWriteTool } from "../../src/tools/file_write.ts";
import { openDiskWorkspace } from "../../src/workspace/disk_workspace.ts";
import { callTool, visibleText } from "./call_tool.ts";
import { type ConfinedBase, makeConfinedBase, secretText } from "./confined_base.ts";
import { type HostileCase, hostileCases } from "./hostile_cases.ts";

for (const hostile of hostileCases) {
  Deno.test(`hostile case ${hostile.id}: ${hostile.why}`, async () => {
    const scene = makeConfinedBase();
    const workspace = openDiskWorkspace({ root: scene.root });
    const tools = [fileReadTool(workspace), fileWriteTool(workspace), fileListTool(workspace)];
    try {
      await runSetup(hostile.setup, scene);
      const before = scene.fingerprint();
      const tool = tools.find(({ name }) => name === hostile.tool);
      assert.ok(tool, `no tool ${hostile.tool}`);
      const started = performance.now();
      const outcome = await callTool(tool, fillIn(hostile.args, scene));
      assert.ok(performance.now() - started < (hostile.timeoutMilliseconds ?? 5000), "took too long");
      const answer = visibleText(outcome);
      assert.ok(hostile.accept.includes(kindOf(outcome)), `${kindOf(outcome)}: ${answer}`);
      const whole = JSON.stringify(outcome);
      for (const leaked of [secretText, "root:x:0", scene.base]) assert.ok(!whole.includes(leaked), `leaks ${leaked}`);
      for (const text of hostile.notContains ?? []) assert.ok(!answer.includes(text), `holds ${text}: ${answer}`);
      if (outcome.ok) { for (const text of hostile.contains ?? []) assert.ok(answer.includes(text), `lacks ${text}`); }
      assert.equal(scene.fingerprint(), before, "something outside the workspace changed");
    } finally {
      await workspace.close();
      scene.remove();
    }
  });
}

function kindOf(outcome: ToolOutcome): HostileCase["accept"][number] {
  if (outcome.ok) return "ok";
  return outcome.code === "not_found" ? "not_found" : "deny";
}

async function runSetup(script: string, scene: ConfinedBase): Promise<void> {
  const { success, stderr } = await new Deno.Command("sh", {
    args: ["-c", script],
    cwd: scene.root,
    env: { W: scene.root, OUT: scene.outside, SECRET: scene.secret, BASE: scene.base },
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}

function fillIn(args: unknown, scene: ConfinedBase): unknown {
  const values: Record<string, string> = {
    W: scene.root,
    OUT: scene.outside,
    SECRET: scene.secret,
    BASE: scene.base,
    WNAME: "ws",
  };
  const fill = (value: unknown): unknown => {
    if (typeof value === "string") return value.replace(/\{\{(\w+)\}\}/g, (whole, name) => values[name] ?? whole);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, fill(member)]));
  };
  return fill(args);
}
