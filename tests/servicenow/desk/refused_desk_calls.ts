/** Refusals of the ServiceNow tools, each with the call that follows from its words. */

type Arguments = Record<string, unknown>;
type Repeat = (found: RegExpExecArray, args: Arguments) => Arguments | readonly [tool: string, Arguments];

/** The tool, what is asked, what the refusal says, and what is asked then. */
export type RefusedDeskCall = readonly [tool: string, Arguments, RegExp, Repeat];

const set = (more: Arguments): Repeat => (_found, args) => ({ ...args, ...more });
const without = (name: string): Repeat => (_found, { [name]: _left, ...args }) => args;
const named = (name: string): Repeat => ([, meant = ""], args) => ({ ...args, [name]: meant.trim() });
const call = (tool: string, args: Arguments): Repeat => () => [tool, args];
const renamed: Repeat = ([, name = "", meant = ""], args) => {
  const { [name]: value, ...others } = args;
  return { ...others, [meant]: value };
};
/** With the name that is meant in place of the one that a condition or a line of values begins with. */
const inText = (name: string): Repeat => ([, meant = ""], args) => ({
  ...args,
  [name]: String(args[name]).replace(/^\w+/, meant),
});

const incident = { table: "incident" };
const one = { id: "INC0010001", dry_run: true };
const meant = /did you mean ([^ ?]+)\?/;
const unknown = /has no (\w+); did you mean (\w+)\?/;
const nearest = /; nearest: ([^(,;]+)/;

export const refusedDeskCalls: readonly RefusedDeskCall[] = [
  // arguments
  ["servicenow_search", { tabel: "incident" }, unknown, renamed],
  [
    "servicenow_get_record",
    { di: "INC0010001" },
    /has no di; it takes (\w+)/,
    ([, name = ""]) => ({ [name]: "INC0010001" }),
  ],
  ["servicenow_add_note", { ...one, text: "a" }, /^(audience) parameter is required$/, set({ audience: "team" })],
  ["servicenow_add_note", { ...one, text: "a", audience: "all" }, /must be one of: (\w+)/, named("audience")],
  ["servicenow_search", { ...incident, cursor: "3; drop" }, /cursor must be/, without("cursor")],
  [
    "servicenow_get_record",
    { id: Array.from({ length: 12 }, (_, index) => `INC00100${index + 10}`).join(" ") },
    /names at most (\d+) records/,
    set({ id: "INC0010001 INC0010002" }),
  ],
  // tables, fields, values
  ["servicenow_search", { table: "incidnet" }, meant, named("table")],
  ["servicenow_search", { ...incident, fields: "stat" }, meant, named("fields")],
  ["servicenow_search", { ...incident, order_by: "numbr" }, meant, named("order_by")],
  ["servicenow_search", { ...incident, where: "stat=New" }, meant, inText("where")],
  ["servicenow_count", { ...incident, where: "stat=New" }, meant, inText("where")],
  ["servicenow_update", { ...one, values: "urgecy=1" }, meant, inText("values")],
  ["servicenow_search", { ...incident, where: "state=high" }, /its values: ([^(]+)/, ([, value = ""]) => ({
    ...incident,
    where: `state=${value.trim()}`,
  })],
  ["servicenow_update", { ...one, values: "urgency=huge" }, /its values: ([^(]+)/, ([, value = ""]) => ({
    ...one,
    values: `urgency=${value.trim()}`,
  })],
  ["servicenow_search", { ...incident, where: "assignment_group=Netwerk" }, nearest, ([, group]) => ({
    ...incident,
    where: `assignment_group=${group}`,
  })],
  ["servicenow_search", { ...incident, where: "assigned_to=Lovelock Ada" }, nearest, ([, person]) => ({
    ...incident,
    where: `assigned_to=${person}`,
  })],
  [
    "servicenow_search",
    { ...incident, where: "assigned_to=Jonas Keller" },
    /ambiguous: [^(]+\(([\w.]+)/,
    ([, user]) => ({
      ...incident,
      where: `assigned_to=${user}`,
    }),
  ],
  // what is listed counts as it is listed
  ["servicenow_search", { ...incident, where: "state=high" }, /its values: ([^,]+ \(1\)),/, ([, value]) => ({
    ...incident,
    where: `state=${value}`,
  })],
  ["servicenow_update", { ...one, values: "urgency=huge" }, /its values: ([^,]+ \(1\)),/, ([, value = ""]) => ({
    ...one,
    values: { urgency: value },
  })],
  ["servicenow_search", { ...incident, where: "assignment_group=Netwerk" }, /nearest: ([^;]+\))/, ([, group]) => ({
    ...incident,
    where: `assignment_group=${group}`,
  })],
  ["servicenow_search", { ...incident, where: "assigned_to=Lovelock Ada" }, /nearest: ([^;]+\))/, ([, person]) => ({
    ...incident,
    where: `assigned_to=${person}`,
  })],
  [
    "servicenow_update",
    { ...one, values: { assigned_to: "Jonas Keller" } },
    /ambiguous: ([^;]+\));/,
    ([, person = ""]) => ({
      ...one,
      values: { assigned_to: person },
    }),
  ],
  [
    "servicenow_search",
    { ...incident, where: "short_description contains disk, state=New" },
    /give each condition a line of its own/,
    set({ where: "short_description contains disk\nstate=New" }),
  ],
  [
    "servicenow_count",
    { ...incident, where: "opened_at>last 7 days" },
    /would leave out all of .*: use (\S+=.*)$/,
    named("where"),
  ],
  ["servicenow_search", { ...incident, where: "work_notes is empty" }, /read a record's with (\w+=journal)/, () => [
    "servicenow_get_record",
    { id: "INC0010001", include: "journal" },
  ]],
  [
    "servicenow_count",
    { ...incident, where: "state=New or opened_at=today" },
    /cannot be asked at once: search for each/,
    set({ where: "opened_at=today" }),
  ],
  [
    "servicenow_count",
    { ...incident, where: "opened_at between 2026-01-01 and 2026-02-01 or state=New" },
    /cannot be asked at once(?: by "or")?: search for each/,
    set({ where: "state=New" }),
  ],
  [
    "servicenow_count",
    { ...incident, where: "active=true^NQpriority=1" },
    /\^NQ joins two queries: search for each/,
    set({ where: "priority=1" }),
  ],
  [
    "servicenow_search",
    { ...incident, words: "INC0010001 INC0010002" },
    /use where, (number=\S+)$/,
    ([, where]) => ({ ...incident, where }),
  ],
  ["servicenow_search", { ...incident, words: "*" }, /leave it out$/, without("words")],
  ["servicenow_search", { ...incident, fields: "*" }, /fields: name them/, set({ fields: "number" })],
  [
    "servicenow_search",
    { ...incident, order_by: "number", order: "desc" },
    /as order_by="(-\w+)"/,
    ([, order_by]) => ({ ...incident, order_by }),
  ],
  ["servicenow_count", { ...incident, group_by: "state,priority" }, /takes one field/, set({ group_by: "state" })],
  [
    "servicenow_describe",
    { ...incident, field: "caller_id.email" },
    /(\w+) is a field of (\w+): describe that table/,
    ([, field, table]) => ({ table, field }),
  ],
  ["servicenow_get_record", { ...incident, id: "disk full" }, /words of its title with (\w+)$/, ([, tool = ""]) => [
    tool,
    { ...incident, words: "disk" },
  ]],
  // changes
  [
    "servicenow_update",
    { ...one, values: { problem_id: "disk full" } },
    /name the \S+ by its number, not/,
    call("servicenow_search", { table: "problem", words: "disk" }),
  ],
  [
    "servicenow_update",
    { ...one, values: { assigned_to: null } },
    /leave it out, or give ("") to empty it/,
    set({ values: { assigned_to: "" } }),
  ],
  [
    "servicenow_update",
    { ...one, values: { assigned_to: "none" } },
    /; give "" to empty it$/,
    set({ values: { assigned_to: "" } }),
  ],
  [
    "servicenow_update",
    { ...one, values: { due_date: "next week" } },
    /such as 2026-03-01 or (.*) \(UTC\)/,
    ([, due_date]) => ({ ...one, values: { due_date } }),
  ],
  ["servicenow_update", { ...one, values: "just words" }, /is not name=value; give/, set({ values: "urgency=1" })],
  [
    "servicenow_update",
    { ...one, values: "short_description=A; b, urgency=High" },
    /give a JSON object: \{"(\w+)": "…", "(\w+)"/,
    ([, name = "", second = ""]) => ({ ...one, values: JSON.stringify({ [name]: "A; b", [second]: "High" }) }),
  ],
  [
    "servicenow_update",
    { ...one, values: "description=first\nurgency=1" },
    /give a JSON object: \{"(\w+)"/,
    ([, name = ""]) => ({ ...one, values: JSON.stringify({ [name]: "first\nurgency=1" }) }),
  ],
  ["servicenow_update", { ...one, values: "{}" }, /values must name at least one field/, set({ values: "urgency=1" })],
  [
    "servicenow_update",
    { ...one, values: "comments=Hello" },
    /use (servicenow_add_note) with audience=(caller)/,
    ([, tool = "", audience]) => [tool, { ...one, text: "Hello", audience }],
  ],
  [
    "servicenow_create",
    { ...incident, values: "urgency=1", dry_run: true },
    /must have (\w+)/,
    ([, name = ""], args) => ({ ...args, values: `urgency=1\n${name}=a` }),
  ],
  [
    "servicenow_create",
    { table: "problem", from: "CHG0030001", values: "short_description=a", dry_run: true },
    /which makes no \S+.*; leave out from$/,
    without("from"),
  ],
  // what belongs to a record
  ["servicenow_get_record", { id: "Ada Lovelace" }, /give table with a name or sys_id/, set({ table: "sys_user" })],
  [
    "servicenow_get_record",
    { id: "INC0010001", include: "items" },
    /has no \S+; leave it out of include/,
    without("include"),
  ],
  [
    "servicenow_get_record",
    { id: "me", table: "sys_user", include: "answers" },
    /has no answers; leave it out of include/,
    without("include"),
  ],
  ["servicenow_fetch_attachment", { id: "INC0010002" }, /name one of its attachments: (\S+)/, named("name")],
  [
    "servicenow_order",
    { item: "Report an issue", action: "add_to_cart", answers: '{"short_description":"a","urgency":"1 - High"}' },
    /does not go into a cart: use action=(\w+)/,
    ([, action], args) => ({ ...args, action, dry_run: true }),
  ],
  [
    "servicenow_describe",
    { table: "incidnet" },
    meant,
    call("servicenow_describe", { table: "incident" }),
  ],
  // conditions that a field cannot have
  [
    "servicenow_search",
    { ...incident, where: "disk" },
    /is no condition: write one a line, such as (.*)$/,
    named("where"),
  ],
  [
    "servicenow_search",
    { ...incident, words: "disk OR vpn" },
    /would be looked for itself\. Use where/,
    () => ({ ...incident, where: "short_description contains disk or vpn" }),
  ],
  [
    "servicenow_count",
    { ...incident, where: "assignment_group>Network" },
    /is compared by name: use = or !=/,
    set({
      where: "assignment_group=Network",
    }),
  ],
  [
    "servicenow_count",
    { ...incident, where: "opened_at contains 2026" },
    /is a date: use =, >, >=/,
    set({
      where: "opened_at>=2026-01-01",
    }),
  ],
  ["servicenow_count", { ...incident, where: "opened_at>soon" }, /is no date; write (\S+),/, ([, date]) => ({
    ...incident,
    where: `opened_at>${date}`,
  })],
  ["servicenow_count", { ...incident, where: "active>true" }, /is true or false: use =/, set({ where: "active=true" })],
  [
    "servicenow_count",
    { ...incident, where: "reassignment_count=1,000" },
    /can be one number or several: write (\d+) or (\S+?)\.?$/,
    ([, , several]) => ({ ...incident, where: `reassignment_count=${several}` }),
  ],
  [
    "servicenow_count",
    { ...incident, where: "priority contains high" },
    /is stored as a number: use = with one of ([^,]+)/,
    ([, value]) => ({ ...incident, where: `priority=${value}` }),
  ],
  [
    "servicenow_count",
    { ...incident, where: "business_duration>2" },
    /is a length of time: use =, !=, >, .* one such as ([\w ]+)/,
    ([, length]) => ({ ...incident, where: `business_duration>${length}` }),
  ],
  [
    "servicenow_update",
    { ...one, values: "business_duration=soon" },
    /: write a length of time such as ([\w ]+)/,
    ([, length]) => ({ ...one, values: `business_duration=${length}` }),
  ],
  // versions, and calls for one record
  [
    "servicenow_update",
    { ...one, values: "urgency=1", if_version: "999" },
    /has changed: version .*\. Read it again/,
    call("servicenow_get_record", { id: "INC0010001" }),
  ],
  [
    "servicenow_update",
    { ...one, id: "INC0010001 INC0010002", values: "urgency=1", if_version: "999" },
    /is of one record: make a call for each/,
    () => ({ ...one, values: "urgency=1" }),
  ],
  [
    "servicenow_fetch_attachment",
    { id: "INC0010001 INC0010002" },
    /names one record: make a call for each/,
    set({ id: "INC0010001" }),
  ],
];
