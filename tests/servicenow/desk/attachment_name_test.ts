import assert from "node:assert/strict";
import { fingerprintTree } from "../../workspace/confined_base.ts";
import { type Desk, openDesk } from "./desk_place.ts";

/** Saves the one attachment of a record and gives the name of the new file. */
async function save({ text }: Desk, input: object = {}): Promise<string> {
  const said = await text("servicenow_fetch_attachment", { id: "INC0010001", ...input });
  const [, name] = /^Saved (.*) \(\d+ bytes\)$/.exec(said) ?? [];
  assert.ok(name !== undefined, said);
  return name;
}

/** Gives a record one attachment, with some text and this name. */
async function attach({ call, root, instance }: Desk, name: string): Promise<void> {
  await Deno.mkdir(`${root}/from`, { recursive: true });
  await Deno.writeTextFile(`${root}/from/page.txt`, "of a stranger");
  instance.tables.get("sys_attachment")?.clear();
  const input = { table: "incident", id: "INC0010001", filename: "from/page.txt" };
  assert.ok((await call("servicenow_attach", input)).ok);
  const id = [...instance.tables.get("sys_attachment")?.keys() ?? []].at(-1) ?? "";
  instance.changeAttachment(id, { file_name: name });
}

Deno.test("an attachment's own name cannot become a path, nor a name that misleads or that no file can have", async () => {
  await using place = await openDesk();
  for (
    const [name, expected] of [
      ["../../etc/passwd", "_.._etc_passwd"],
      ["a\\b:c.txt", "a_b_c.txt"],
      ["..", "attachment"],
      ["", "attachment"],
      [". . bashrc", "bashrc"],
      [".git", "git"],
      [".portcullis", "portcullis"],
      ["end. ", "end"],
      ["CON.txt", "attachment"],
      ["re\u202etxt.exe", "re_txt.exe"],
      ["half\ud800.txt", "half\ufffd.txt"],
      ["\u4e2d".repeat(200) + ".pdf", "\u4e2d".repeat(38) + ".pdf"],
      ["\ud83d\ude00".repeat(100), "\ud83d\ude00".repeat(30)],
    ] as const
  ) {
    await attach(place, name);
    const filename = await save(place);
    if (expected === "attachment") assert.match(filename, /^attachment(?: \(\d+\))?$/);
    else assert.equal(filename, expected);
    assert.equal(await Deno.readTextFile(`${place.root}/${filename}`), "of a stranger");
  }
});

Deno.test("an attachment saved by its own name replaces nothing, whatever has that name; one saved by filename does", async () => {
  await using place = await openDesk();
  const { root } = place;
  const takers: Readonly<Record<string, (path: string) => void>> = {
    "Makefile": (path) => Deno.writeTextFileSync(path, "mine"),
    "sub.d": (path) => Deno.mkdirSync(path),
    "link.txt": (path) => Deno.symlinkSync("Makefile", path),
    "locked.txt": (path) => Deno.writeTextFileSync(path, "mine", { mode: 0o400 }),
    "outward.txt": (path) => Deno.symlinkSync("/etc/hostname", path),
    "dangling": (path) => Deno.symlinkSync("/nowhere/at/all", path),
    "loop": (path) => Deno.symlinkSync("loop", path),
    "a (2).tar.gz": (path) => Deno.writeTextFileSync(path, "mine"),
    ["n".repeat(116) + ".txt"]: (path) => Deno.writeTextFileSync(path, "mine"),
  };
  for (const [name, take] of Object.entries(takers)) {
    take(`${root}/${name}`);
    const before = fingerprintTree(root);
    await attach(place, name);
    const names = [];
    for (let count = 0; count < 2; count++) {
      names.push(await save(place));
    }
    const dot = name.lastIndexOf(".");
    const [stem, extension] = dot === -1 ? [name, ""] : [name.slice(0, dot), name.slice(dot)];
    for (const [index, saved] of names.entries()) {
      assert.ok(saved.startsWith(stem.slice(0, 100)) && saved.endsWith(` (${index + 2})${extension}`), saved);
      assert.equal(await Deno.readTextFile(`${root}/${saved}`), "of a stranger");
      await Deno.remove(`${root}/${saved}`);
    }
    await Deno.remove(`${root}/from`, { recursive: true });
    await Deno.remove(`${root}/.portcullis`, { recursive: true });
    assert.equal(fingerprintTree(root), before);
  }
  await attach(place, "anything");
  assert.equal(await save(place, { filename: "Makefile" }), "Makefile");
  assert.equal(await Deno.readTextFile(`${root}/Makefile`), "of a stranger");
});

Deno.test("a large file comes and goes whole; one that breaks off leaves nothing behind", async () => {
  await using desk = await openDesk();
  const bytes = new Uint8Array(9 * 1024 * 1024).map((_, index) => index % 251);
  await Deno.writeFile(`${desk.root}/large.bin`, bytes);
  assert.match(
    await desk.text("servicenow_attach", { id: "INC0010002", filename: "large.bin" }),
    /^Attached large\.bin \(9437184 bytes\)/,
  );
  assert.equal(
    await desk.text("servicenow_fetch_attachment", { id: "INC0010002", filename: "back.bin" }),
    "Saved back.bin (9437184 bytes)",
  );
  assert.deepEqual(await Deno.readFile(`${desk.root}/back.bin`), bytes);
  desk.instance.faults.play("broken_off", { path: /\/file$/ });
  const cut = await desk.text("servicenow_fetch_attachment", { id: "INC0010001" });
  assert.match(cut, /ServiceNow unavailable\. The instance cannot be reached, or broke off/);
  await assert.rejects(Deno.stat(`${desk.root}/mx-01.log`), Deno.errors.NotFound);
  const [id = ""] = [...desk.instance.tables.get("sys_attachment")?.keys() ?? []];
  desk.instance.changeAttachment(id, { size_bytes: "67108865" });
  assert.match(await desk.text("servicenow_fetch_attachment", { id: "INC0010001" }), /Record too large/);
  await Deno.writeFile(`${desk.root}/huge.bin`, new Uint8Array(16 * 1024 * 1024 + 1));
  assert.match(await desk.text("servicenow_attach", { id: "INC0010002", filename: "huge.bin" }), /^refused.*16777216/s);
  for (const filename of ["../up.txt", "a/", ""]) {
    const input = { id: "INC0010002", ...(filename === "" ? {} : { filename }) };
    if (filename !== "") assert.match(await desk.text("servicenow_fetch_attachment", input), /^refused/, filename);
  }
});
