/** Texts of records as their authors meant them: lines stay lines, cells of a table stay apart, and a title is shown as it is. */
import assert from "node:assert/strict";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { wordsOf } from "../../../src/servicenow/field_values.ts";
import { openDesk } from "./desk_place.ts";

Deno.test("an entry of a journal with HTML in it keeps the lines around and inside of it", async () => {
  await using desk = await openDesk();
  const read = async (text: string): Promise<string> => {
    for (const entry of desk.instance.tables.get("sys_journal_field")?.values() ?? []) entry["value"] = text;
    const answer = await desk.text("servicenow_get_record", { id: "INC0010002", include: "journal" });
    return /\((?:work note|comment, seen by the caller)\): ([^]*?)(?=\n\S|$)/.exec(answer)?.[1] ?? assert.fail(answer);
  };
  for (
    const [text, expected] of [
      [
        "First line\nsecond [code]<b>bold</b>[/code] line\n\nlast a < b",
        "First line\n  second bold line\n  \n  last a < b",
      ],
      [
        "Log:\n[code]line 1\nline 2 &amp; more\n  &lt;hostname&gt;[/code]\nend",
        "Log:\n  line 1\n  line 2 & more\n  <hostname>\n  end",
      ],
      ["[code]<p>one</p>\n<p>two\nthree</p>[/code]", "one\n  two three"],
      ["[code]<pre>line 1\nline 2</pre>[/code]", "line 1\n  line 2"],
      [
        "Run it [code]<a href='https://evil.example'>here</a>[/code]\nthen [code]x<br>y[/code]",
        "Run it here\n  then\n  x\n  y",
      ],
      ["Steps:[code]<ul><li>one</li></ul>[/code][code]<p>two</p>[/code]Bye", "Steps:\n  one\n  two\n  Bye"],
      ["<p>Before</p>[code]<b>within</b>[/code]", "Before\n  within"],
      ["Never closed [code]<i>a</i>\nb", "Never closed a\n  b"],
    ] as const
  ) assert.equal(await read(text), expected, text);
});

Deno.test("the cells and rows of a table stay apart, and one that only lays text out adds nothing", async () => {
  await using desk = await openDesk();
  const row = desk.instance.tables.get("incident")?.get(sysId("1c", 2)) ?? assert.fail();
  for (
    const [text, expected] of [
      [
        "<table><tbody><tr><th>Host</th><th>State</th></tr>\n <tr> <td>db-01</td> <td><p>down</p></td></tr></tbody></table>",
        "Host | State\n  db-01 | down",
      ],
      ["<p>See</p><table><tr><td>a<td><td>c</table><p>end</p>", "See\n  a |  | c\n  end"],
      ["<table><tr><td><p>One</p><p>Two</p></td></tr></table>", "One\n  Two"],
    ] as const
  ) {
    row["description"] = text;
    const answer = await desk.text("servicenow_get_record", { id: "INC0010002", fields: "description" });
    assert.ok(answer.endsWith(`\ndescription: ${expected}`), `${text}: ${answer}`);
  }
});

Deno.test("a title is shown as it was written, whatever is in it", async () => {
  await using desk = await openDesk();
  const row = desk.instance.tables.get("incident")?.get(sysId("1c", 2)) ?? assert.fail();
  for (
    const title of [
      "Page breaks at <script>alert(1)</script> in the comment box",
      "<script>alert(1)</script> is not escaped",
      "<b>bold</b> is shown as text in <a href=x>links</a>",
      "[code] tags do not work",
    ]
  ) {
    row["short_description"] = title;
    const input = { table: "incident", where: "number=INC0010002" };
    for (
      const answer of [
        await desk.text("servicenow_get_record", { id: "INC0010002" }),
        await desk.text("servicenow_search", input),
        await desk.text("servicenow_search", { ...input, table: "task", fields: "short_description" }),
      ]
    ) assert.ok(answer.includes(title), `${title}: ${answer}`);
  }
});

Deno.test("wordsOf() reads a long text in one pass, whatever is repeated in it", () => {
  for (const part of ["[code]", "[/code]", "<td>", "<tr> ", "<br> ", "<pre>", "<td> <br> "]) {
    assert.equal(typeof wordsOf(`<p>x</p>[code]${part.repeat(100_000)}`), "string", part);
  }
});
