/** What agents that saw the list of tools alone were misled by. */
import assert from "node:assert/strict";
import { openDesk } from "./desk_place.ts";

Deno.test("an include that does not fit the table is refused, never told as none", async () => {
  await using desk = await openDesk();
  for (const kind of ["items", "members", "groups", "on_call"]) {
    const text = await desk.text("servicenow_get_record", { id: "INC0010001", include: kind });
    assert.match(text, new RegExp(`a record of incident has no ${kind}`));
  }
  assert.match(await desk.text("servicenow_get_record", { id: "me", include: "groups" }), /^groups/m);
});

Deno.test("several values in one line are refused before anything is sent, and understood as lines or JSON", async () => {
  await using desk = await openDesk();
  const update = (values: string) => desk.text("servicenow_update", { id: "INC0010001", values, dry_run: true });
  for (const line of ["short_description=A; b, urgency=High", "short_description=Mail, state=In Progress"]) {
    assert.match(await update(line), /stands in the value of short_description; write one name=value a line/);
  }
  for (
    const values of ["short_description=Mail; b, c\nurgency=High", '{"short_description":"Mail, a=b","urgency":"High"}']
  ) {
    assert.match(await update(values), /short_description/);
    assert.doesNotMatch(await update(values), /one name=value a line/);
  }
});
