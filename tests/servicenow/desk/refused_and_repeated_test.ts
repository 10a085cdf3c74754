/** Each remedy that a refusal of a ServiceNow tool names works when the call is repeated with it. */
import assert from "node:assert/strict";
import { openDesk } from "./desk_place.ts";
import { refusedDeskCalls } from "./refused_desk_calls.ts";

Deno.test("the remedy that a refusal of a ServiceNow tool names works at the first repeat", async () => {
  await using small = await openDesk();
  await using large = await openDesk({ instance: { data: "desk" } }); // with record producers
  for (const name of ["a.txt", "b.txt"]) {
    await Deno.writeTextFile(`${small.root}/${name}`, name);
    await small.text("servicenow_attach", { id: "INC0010002", filename: name });
  }
  for (const [tool, args, says, repeat] of refusedDeskCalls) {
    const title = `${tool} ${JSON.stringify(args)}`;
    const desk = tool === "servicenow_order" ? large : small;
    const outcome = await desk.call(tool, args);
    const refusal = outcome.ok ? "(none)" : outcome.message;
    const found = says.exec(refusal) ?? assert.fail(`${title}: ${refusal}`);
    const next = repeat(found, args);
    const [other, again] = Array.isArray(next) ? next : [tool, next];
    const answer = await desk.text(other, again);
    assert.ok(!answer.startsWith("refused"), `${title}: ${refusal} -> ${JSON.stringify(again)}: ${answer}`);
  }
});
