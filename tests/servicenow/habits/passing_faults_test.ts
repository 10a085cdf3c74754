/** What an instance cannot answer at this moment is a failure of the call: never taken for hidden or absent, and not remembered. */
import assert from "node:assert/strict";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { openDesk } from "../desk/desk_place.ts";

/** A call that depends on what one path answers, and what it is answered when that works. */
const dependent: readonly (readonly [path: RegExp, tool: string, input: object, expected: RegExp, habits?: object])[] =
  [
    [
      /sys_dictionary/,
      "describe",
      { table: "incident" },
      /^incident: name \(label\) type\ncaller_id \(Caller\) → sys_user/,
    ],
    [
      /sys_dictionary/,
      "search",
      { table: "incident", where: "Resolution code is empty" },
      /^incident: .*, close_code is empty/,
    ],
    [/sys_db_object/, "describe", { table: "cmdb_ci_server" }, /^asset_tag /m],
    [/sys_documentation/, "count", { table: "incident", where: "Zuweisungsgruppe=Network" }, /^incident: 1 /],
    [/sys_choice/, "count", { table: "incident", where: "state=In Progress" }, /^incident: 1 /],
    [
      /sys_user\/[0-9a-f]{32}$/,
      "count",
      { table: "incident", where: "opened_at=2026-03-01" },
      /^incident: 1 .*zone, Asia/,
    ],
    [
      /table\/incident$/,
      "update",
      { id: sysId("1c", 1), table: "incident", values: { close_code: "Other Code" }, dry_run: true },
      /close_code: Other Code/,
      { metadata: "admin_only" },
    ],
    [
      /table\/sys_user$/,
      "update",
      { id: "INC0010002", values: { watch_list: "ben@example.com" }, dry_run: true },
      /Ben/,
    ],
  ];

Deno.test("a fault that passes is told as one, and the same call is answered as ever after it", async () => {
  for (const [path, tool, input, expected, habits] of dependent) {
    for (const fault of ["server_error", "rate_limited"] as const) {
      await using desk = await openDesk({ instance: { ...habits === undefined ? {} : { habits } } });
      const me = desk.instance.tables.get("sys_user")?.get(sysId("a1")) ?? assert.fail();
      me["time_zone"] = "Asia/Tokyo";
      if (String(path) === "/table\\/incident$/") {
        const row = desk.instance.tables.get("incident")?.get(sysId("1c", 2)) ?? assert.fail();
        row["close_code"] = "Other Code";
      }
      desk.instance.faults.play(fault, { times: fault === "rate_limited" ? 1 : 3, path });
      const failed = await desk.text(`servicenow_${tool}`, input);
      assert.match(failed, /^refused \(servicenow_(unavailable|rate_limited)\)/, `${fault} ${path} ${tool}: ${failed}`);
      desk.place.advance(4_000);
      const answered = await desk.text(`servicenow_${tool}`, input);
      assert.match(answered, expected, `${fault} ${path} ${tool}`);
    }
  }
});

Deno.test("an order is told as made although what else there is to know of it cannot be read", async () => {
  for (const path of [/sc_req_item/, /sysapproval_approver/]) {
    await using desk = await openDesk({ instance: { data: "desk" } });
    desk.instance.faults.play("server_error", { times: 50, path });
    const text = await desk.text("servicenow_order", { item: "Standard Laptop" });
    assert.match(text, /^Ordered: REQ\d+/, text);
  }
});
