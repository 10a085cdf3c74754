/** What people ask in other words than ours, and what an instance does not show: nothing is said to be empty or absent that is not. */
import assert from "node:assert/strict";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { openDesk } from "../desk/desk_place.ts";

Deno.test("words are found whatever signs stand at their ends, and conditions among them are conditions", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const find = (words: string) => desk.text("servicenow_search", { table: "incident", limit: 1, words });
  const plain = await find("VPN drops");
  assert.match(plain, /^incident: the first 1 of 19 /);
  for (
    const words of [
      "VPN, drops",
      "'VPN drops'",
      "VPN* drops*",
      "%VPN% drops.",
      "VPN and drops",
      "VPN AND drops",
      "(VPN) & drops",
    ]
  ) {
    assert.match(await find(words), /^incident: the first 1 of 19 /, words);
  }
  const narrowed = await desk.text("servicenow_search", {
    table: "incident",
    limit: 1,
    words: "VPN",
    where: "active=true",
  });
  const [, count] = /of (\d+) /.exec(narrowed) ?? assert.fail(narrowed);
  for (const words of ["VPN active=true", "vpn AND active=true", "VPN drops active=true"]) {
    const text = await find(words);
    assert.match(text, new RegExp(`^incident: the first 1 of ${count} .*active is true`), words);
  }
  assert.match(await find("code=5 x=y"), /^incident: none .*words code=5 x=y/); // no fields of the table
});

Deno.test("a number is found as prose writes it; a name that means a person otherwise is answered with who that is", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  for (const id of ["#INC0010016", "INC 0010016", "INC-0010016", "INC0010016.", "inc0010016:"]) {
    assert.match(await desk.text("servicenow_get_record", { id }), /^INC0010016 /, id);
  }
  const text = await desk.text("servicenow_search", { table: "sys_user", where: "name=Ada" });
  assert.match(text, /^sys_user: none that the user may see.*did you mean Ada Lovelace \(ada\)\?/);
  const inactive = await desk.text("servicenow_search", { table: "sys_user", where: "name=Ada Lovelace\ntitle=None" });
  assert.doesNotMatch(inactive, /did you mean/);
});

Deno.test("a person is who both name and login say, or nobody", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const assign = (assigned_to: string) =>
    desk.text("servicenow_update", { id: "INC0010016", values: { assigned_to }, dry_run: true });
  assert.match(await assign("Ada Lovelace (ada)"), /assigned_to: Ada Lovelace \(ada\)$/m);
  assert.match(await assign("Jonas Keller (jonas.keller2)"), /assigned_to: Jonas Keller \(jonas\.keller2\)$/m);
  for (const wrong of ["Ben Bitdiddle (ada)", "Ada (jonas.keller)", "Ada Lovelace (nobody)"]) {
    assert.match(await assign(wrong), /^refused .*no person/, wrong);
  }
});

Deno.test("values come as the Table API gives them", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const values = {
    assignment_group: { display_value: "Network", link: "https://x" },
    urgency: { display_value: "3 - Low", value: "3" },
    assigned_to: { display_value: "Ada Lovelace", value: sysId("a1") },
    watch_list: ["ada", "ben"],
  };
  const text = await desk.text("servicenow_update", { id: "INC0010016", values, dry_run: true });
  assert.match(text, /Network\nurgency: .*3 - Low\nassigned_to: .*Ada Lovelace.*\nwatch_list: Ada Lovelace.*, Ben/);
});

Deno.test("what ServiceNow does not show is not said to be empty, sorted by or there", async () => {
  await using desk = await openDesk({
    instance: {
      data: "desk",
      habits: {
        metadata: "admin_only",
        unreadableCondition: "ignored",
        hiddenFields: ["incident.assignment_group", "incident.resolved_at"],
      },
    },
  });
  const search = (more: object) => desk.text("servicenow_search", { table: "incident", limit: 1, ...more });
  const count = (more: object) => desk.text("servicenow_count", { table: "incident", ...more });
  for (const field of ["assignment_group", "u_unknown"]) {
    assert.match(await count({ group_by: field }), new RegExp(`^refused .*shows this user no ${field} in incident`));
    assert.match(
      await search({ fields: `number,${field}` }),
      new RegExp(`^incident: .*ServiceNow shows this user no ${field} `),
    );
    assert.match(await search({ order_by: field }), new RegExp(`shows this user no ${field} and may not sort by it`));
    const record = await desk.text("servicenow_get_record", { id: "INC0010016", fields: `state,${field}` });
    assert.match(record, new RegExp(`state: New\n${field}: \\(not shown to this user\\)`));
  }
  assert.match(await count({ mean_time: "opened_at,resolved_at" }), /^refused .*no resolved_at in incident/);
  assert.doesNotMatch(await search({ fields: "number,state", order_by: "number" }), /shows this user no/);
  assert.doesNotMatch(await search({ fields: "caller_id.email" }), /shows this user no/);
  const described = await desk.text("servicenow_describe", { table: "incident", field: "u_unknown,state" });
  assert.match(described, /u_unknown \(whether there is such a field is not known\)/);
  assert.doesNotMatch(described, /state \(whether/);
  const planned = await desk.text("servicenow_update", { id: "INC0010016", values: { u_unknown: "1" }, dry_run: true });
  assert.match(planned, /whether there is a field u_unknown is not known: it is sent as given/);
});

Deno.test("a field behind a reference that is not shown is told, and one behind an empty reference is empty", async () => {
  const habits = { hiddenFields: ["sys_user.email", "sys_user.location"] };
  await using desk = await openDesk({ instance: { data: "desk", habits } });
  const rows = desk.instance.tables.get("incident") ?? assert.fail();
  const search = (fields: string, where = "active=true") =>
    desk.text("servicenow_search", { table: "incident", where, fields, limit: 2 });
  const count = (more: object) => desk.text("servicenow_count", { table: "incident", ...more });
  for (const hidden of ["caller_id.email", "caller_id.location.name", "caller_id.location"]) {
    assert.match(await search(`number,${hidden}`), new RegExp(`ServiceNow shows this user no ${hidden} \\(`));
    assert.match(await count({ group_by: hidden }), new RegExp(`^refused .*shows this user no ${hidden} in incident`));
    const record = await desk.text("servicenow_get_record", { id: "INC0010016", fields: `state,${hidden}` });
    assert.match(record, new RegExp(`^${hidden}: \\(not shown to this user\\)$`, "m"));
  }
  const some = await search("number,caller_id.email,caller_id.name");
  assert.match(some, /no caller_id\.email \(/);
  assert.match(some, /\n {2}caller_id.name Ben/);
  const empty = "assigned_to is empty";
  for (const path of ["assigned_to.email", "assigned_to.department.name", "assigned_to.location"]) {
    assert.doesNotMatch(await search(`number,${path}`, empty), /shows this user no/, path);
    assert.match(await count({ where: empty, group_by: path }), /^incident: [1-9]\d* .*\n\(empty\): [1-9]/, path);
  }
  const number = /INC\d+/.exec(await search("number", empty))?.[0];
  const record = await desk.text("servicenow_get_record", { id: number, fields: "state,assigned_to.email" });
  assert.doesNotMatch(record, /not shown/);
  // of both kinds, each is told apart
  const user = [...desk.instance.tables.get("sys_user")?.values() ?? []][0]?.["sys_id"];
  const three = [...rows.values()].slice(0, 3);
  three.forEach((row, at) => Object.assign(row, { assigned_to: at === 0 ? "" : user }));
  const where = `number=${three.map((row) => row["number"]).join("|")}`;
  assert.match(
    await count({ where, group_by: "assigned_to.email" }),
    /^refused .*shows this user no assigned_to.email/,
  );
});

Deno.test("a value that an instance empties in place of taking another is told as lost", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const own = { id: "INC0010017", values: { assigned_to: "eve" } }; // who is in no group of this one
  assert.match(
    await desk.text("servicenow_update", own),
    /NOT taken: assigned_to Eve Writer \(eve\); it is empty, and WAS Jonas Keller/,
  );
});
