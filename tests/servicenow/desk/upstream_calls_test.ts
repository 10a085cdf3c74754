/** How often the instance is asked: once where one request has the whole answer. */
import assert from "node:assert/strict";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { openDesk } from "./desk_place.ts";

const incident = { table: "incident", id: sysId("1c", 1) };
const where = "state=In Progress\nassigned_to=eve";

Deno.test("a read asks the instance once, and a write reads once and writes once when the table is known", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const askedBy = async (tool: string, input: object): Promise<number> => {
    desk.instance.requests.length = 0;
    assert.doesNotMatch(await desk.text(tool, input), /^refused/);
    return desk.instance.requests.length;
  };
  for (
    const [tool, input, requests] of [
      ["servicenow_get_record", { id: "INC0010001" }, 1],
      ["servicenow_get_record", incident, 1],
      ["servicenow_get_record", { id: `${desk.instance.origin}/incident.do?sys_id=${incident.id}` }, 1],
      ["servicenow_get_record", { id: "me" }, 1],
      ["servicenow_get_record", { id: "INC0010001", include: "journal" }, 2],
      ["servicenow_search", { table: "incident" }, 1],
      ["servicenow_search", { table: "incident", words: "mail server" }, 1],
      ["servicenow_search", { table: "kb_knowledge", words: "vpn" }, 2],
      // Six hidden incidents: whether the count has them in it shows one page further.
      ["servicenow_count", { table: "incident" }, 2],
      // Columns, choices and the person, of which the instance is asked again only after ten minutes.
      ["servicenow_search", { table: "incident", where }, 4],
      ["servicenow_search", { table: "incident", where }, 1],
      ["servicenow_count", { table: "incident", where }, 1],
      ["servicenow_update", { id: "INC0010001", values: "urgency=1\nassigned_to=eve" }, 2],
      ["servicenow_add_note", { id: "INC0010001", audience: "team", text: "x" }, 2],
      ["servicenow_create", { table: "incident", values: "short_description=x" }, 1],
    ] as const
  ) assert.equal(await askedBy(tool, input), requests, `${tool} ${JSON.stringify(input)}`);
});

Deno.test("of a name with many brackets the last are looked at, and no others", async () => {
  await using desk = await openDesk();
  const brackets = " (x)".repeat(40);
  for (const [field, table] of [["location", "cmn_location"], ["assigned_to", "sys_user"]] as const) {
    desk.instance.requests.length = 0;
    const given = `${field}=Ada${brackets}`;
    assert.match(
      await desk.text("servicenow_search", { table: "incident", where: given }),
      /^refused.*that the user may see/,
    );
    const { requests } = desk.instance;
    const lookups = requests.filter(({ path, query }) =>
      path.endsWith(`/${table}`) && /(?:^|\^)name=/.test(query.get("sysparm_query") ?? "")
    );
    assert.ok(lookups.length > 0 && lookups.length <= 2, `${lookups.length} lookups`);
  }
});
