/** Several values of one condition: each form is read as it is meant, its negation means none of them, and a value with a sign of lists in it can be named. */
import assert from "node:assert/strict";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { type Desk, openDesk } from "../desk/desk_place.ts";

const count = (desk: Desk, where: string) => desk.text("servicenow_count", { table: "incident", where });

function change(desk: Desk, number: number, values: Readonly<Record<string, string>>): void {
  Object.assign(desk.instance.tables.get("incident")?.get(sysId("1c", number)) ?? assert.fail(), values);
}

Deno.test("numbers are listed by commas, bars and words, and what may be one number is asked about", async () => {
  await using desk = await openDesk();
  const given = ["0", "1", "2", "1000"];
  for (const [at, reassignment_count] of given.entries()) change(desk, at + 1, { reassignment_count });
  for (let number = given.length + 1; number <= 15; number++) change(desk, number, { reassignment_count: "7" });
  for (
    const [where, found] of [
      ["reassignment_count = 0,1", 2],
      ["reassignment_count = 0, 1", 2],
      ["reassignment_count=0|1", 2],
      ["reassignment_count = 0 or 1", 2],
      ["reassignment_count in (0,1,2)", 3],
      ["reassignment_count in 0,100", 1],
      ["reassignment_count != 0,1", 13],
      ["reassignment_count not in (0,7)", 3],
      ["reassignment_count = 1000", 1],
    ] as const
  ) assert.match(await count(desk, where), new RegExp(`^incident: ${found} `), where);
  for (const where of ["reassignment_count = 1,000", "reassignment_count != 1,000", 'reassignment_count="1,000"']) {
    assert.match(await count(desk, where), /^refused .*reassignment_count: .*1000/, where);
  }
  assert.match(await count(desk, "reassignment_count > 0,1"), /^refused .*takes one value/);
  assert.match(await count(desk, "reassignment_count = few, 1"), /^refused .*must be a number/);
});

Deno.test("who is not in a list of people is in it with none of the names", async () => {
  await using desk = await openDesk();
  const lists = [[sysId("a1")], [sysId("b2")], [sysId("a1"), sysId("b2")], [sysId("e5")]];
  for (const [at, people] of lists.entries()) change(desk, at + 1, { watch_list: people.join(",") });
  for (
    const [where, found] of [
      ["watch_list = ada|ben", 3],
      ["watch_list != ada|ben", 12],
      ["watch_list != ada\nwatch_list is not empty", 2],
      ["watch_list not in (ada, ben)", 12],
      ["watch_list contains ada", 2],
      ["watch_list does not contain ada", 13],
      ["watch_list contains ada or eve", 3],
    ] as const
  ) assert.match(await count(desk, where), new RegExp(`^incident: ${found} `), `${where}: ${await count(desk, where)}`);
  assert.match(
    await count(desk, "watch_list starts with Ada"),
    /^refused .*watch_list is compared by name: use = or !=/,
  );
});

Deno.test("a value with a bar in it is found in quotes, and where nothing is found without them that is said", async () => {
  await using desk = await openDesk();
  const title = "Gate A|B is stuck";
  change(desk, 1, { short_description: title });
  const user = desk.instance.tables.get("sys_user")?.get(sysId("e5")) ?? assert.fail();
  user["name"] = "Eve | External";
  change(desk, 2, { assigned_to: sysId("e5") });
  const group = desk.instance.tables.get("sys_user_group")?.get(sysId("98")) ?? assert.fail();
  group["name"] = "Network|Hardware";
  for (
    const [where, found] of [
      [`short_description = "${title}"`, 1],
      ['short_description contains "A|B"', 1],
      ["assigned_to = Eve | External", 1],
      ['assigned_to = "Eve | External"', 1],
      ['assignment_group = "Network|Hardware"', 0],
      ["short_description contains stuck|noise", 1],
    ] as const
  ) {
    const text = await count(desk, where);
    assert.match(text, new RegExp(`^incident: ${found} `), `${where}: ${text}`);
    assert.doesNotMatch(text, /in quotes/, where);
  }
  for (const tool of ["servicenow_search", "servicenow_count"]) {
    const text = await desk.text(tool, { table: "incident", where: "short_description = Gate A|B is stuck" });
    assert.match(text, /^incident: (none|0) .*short_description = "Gate A\|B is stuck"/, text);
    const within = await desk.text(tool, { table: "incident", where: "short_description contains jam|noise" });
    assert.match(within, /short_description contains "jam\|noise"/, within);
    const numbers = await desk.text(tool, { table: "incident", where: "number = INC0019998|INC0019999" });
    assert.doesNotMatch(numbers, /part of the value/);
  }
  assert.match(
    await count(desk, "short_description = jam|noise"),
    /, if \| is part of the value, write short_description = "jam\|noise"$/,
  );
  const none = await count(desk, 'assigned_to = "Ada Lovelace|Ben Bitdiddle"');
  assert.match(none, /^refused .*no person "Ada Lovelace\|Ben Bitdiddle"/, "in quotes it is one name");
  assert.match(await count(desk, 'state = "New|In Progress"'), /^refused .*state cannot be "New\|In Progress"/);
  assert.match(await count(desk, "state = New|In Progress"), /^incident: 3 /);
});

Deno.test("several values that are each in quotes are several values", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  for (
    const [quoted, plain] of [
      ["state = 'New' or 'On Hold'", "state=New|On Hold"],
      ['state = "New"|"In Progress"', "state=New|In Progress"],
      ['state != "New", "In Progress"', "state!=New|In Progress"],
      ['caller_id = "Ada Lovelace", "Ben Bitdiddle"', "caller_id=ada|ben"],
      ['short_description contains "VPN" or "laptop"', "short_description contains VPN|laptop"],
      ["short_description contains 'VPN', 'laptop'", "short_description contains VPN|laptop"],
      [
        'short_description = "VPN drops every ten minutes"|"Monitor flickers"',
        "short_description=VPN drops every ten minutes|Monitor flickers",
      ],
      ["state in New, 'On Hold'", "state=New|On Hold"],
    ] as const
  ) {
    const [found] = (await count(desk, plain)).split(",");
    assert.match(found ?? "", /^incident: [1-9]/, plain);
    assert.equal((await count(desk, quoted)).split(",")[0], found, quoted);
  }
  assert.match(await count(desk, "short_description contains \"VPN 'or' laptop\""), /contains VPN 'or' laptop$/);
});

Deno.test("of several values those in quotes are whole, whatever divides others is in them", async () => {
  await using desk = await openDesk();
  for (const [at, title] of ["Gate A|B", "lift, or stairs", "roof"].entries()) {
    change(desk, at + 1, { short_description: title });
  }
  change(desk, 4, { assigned_to: sysId("e5") });
  const user = desk.instance.tables.get("sys_user")?.get(sysId("e5")) ?? assert.fail();
  user["name"] = "Eve | External, or so";
  for (
    const [where, found, words] of [
      ['short_description = "Gate A|B"|"roof"', 2, /is Gate A\|B or roof$/],
      ['short_description = "Gate A|B" or "lift, or stairs"', 2],
      ["short_description='roof','lift, or stairs'", 2],
      ['short_description = "Gate A|B"|roof', 2],
      ['short_description = roof | "Gate A|B"', 2],
      ['short_description in ("Gate A|B","lift, or stairs", roof)', 3],
      ['short_description in ("Gate A|B")', 1],
      ['short_description contains "A|B", "lift, or"', 2],
      ['short_description contains "A|B"|roof', 2],
      ['short_description != "Gate A|B"|"roof"', 13, /is not Gate A\|B nor roof$/],
      ['short_description = "Gate A|C"|"loft"', 0, /is Gate A\|C or loft$/],
      ['assigned_to = "Eve | External, or so"|"Ada Lovelace"', 2],
      ['state = "New"|"In Progress"', 3],
    ] as const
  ) {
    const text = await count(desk, where);
    assert.match(text, new RegExp(`^incident: ${found} `), `${where}: ${text}`);
    if (words !== undefined) assert.match(text, words);
  }
  change(desk, 5, { short_description: '"VPN", the second' });
  assert.match(
    await count(desk, `short_description = "VPN", the second`),
    /^incident: 1 /,
    "no list: a text with quotes",
  );
  change(desk, 1, { short_description: `it's|5" wide` });
  assert.match(await count(desk, `short_description = it's|that's`), /^incident: 0 .*is it's or that's/);
  assert.match(await count(desk, `short_description contains 5" wide`), /^incident: 1 /);
});

Deno.test("what is stored as a number is compared with one, and the answer says which", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  const whole = async (where: string) => Number(/^incident: (\d+)/.exec(await count(desk, where))?.[1]);
  for (
    const [where, same, words] of [
      ["priority >= High", "priority=2|3|4|5", /priority >= 2 - High \(compared as it is stored: 2\)$/],
      ["priority < Moderate", "priority=1|2", /priority < 3 - Moderate \(compared as it is stored: 3\)$/],
      ["impact > 1", "impact=2|3", /impact > 1 - High \(compared as it is stored: 1\)$/],
      ["state > New", "state!=New", /state > New \(compared as it is stored: 1\)$/],
    ] as const
  ) {
    assert.match(await count(desk, where), words);
    assert.equal(await whole(where), await whole(same), where);
  }
  assert.match(await count(desk, "priority > High|Low"), /^refused .*priority > takes one value/);
  for (
    const where of ["priority between Low and High", "reassignment_count between 50 and 9", "impact > 2\nimpact < 1"]
  ) {
    assert.match(await count(desk, where), /^refused .*nothing is both \w+ >=? .* and \w+ <=? /, where);
  }
  assert.match(await count(desk, "reassignment_count between 9 and 50"), /^incident: \d/);
});

Deno.test("asterisks at the ends of a value stand for any text, and what is stored as a number is not compared as text", async () => {
  await using desk = await openDesk({ instance: { data: "desk" } });
  for (
    const [pattern, plain] of [
      ["short_description = *VPN*", "short_description contains VPN"],
      ["short_description contains *VPN*", "short_description contains VPN"],
      ["short_description like *VPN*", "short_description contains VPN"],
      ["short_description = VPN*", "short_description starts with VPN"],
      ["short_description = *minutes", "short_description ends with minutes"],
      ["short_description like %minutes", "short_description ends with minutes"],
      ["number = INC001001*", "number starts with INC001001"],
      ["assigned_to = Jonas*", "assigned_to starts with Jonas"],
      ["category = soft*", "category=software"],
    ] as const
  ) {
    const [found] = (await count(desk, plain)).split(",");
    assert.match(found ?? "", /^incident: [1-9]/, plain);
    assert.equal((await count(desk, pattern)).split(",")[0], found, pattern);
  }
  assert.match(await count(desk, 'short_description = "*VPN*"'), /^incident: 0 .*short_description is \*VPN\*$/);
  for (
    const where of ["state contains progress", "priority starts with 1", "state = In*", "state does not contain new"]
  ) {
    const text = await count(desk, where);
    assert.match(
      text,
      /^refused .*(state|priority) is stored as a number: use = with .*(In Progress \(2\)|High)/,
      where,
    );
  }
});
