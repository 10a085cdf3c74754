/** The directories of the workspace, in the console's Settings. */
import assert from "node:assert/strict";
import { until } from "../fixtures/until.ts";
import { runCommand } from "../fixtures/running_server.ts";
import { startDesk } from "./desk.ts";

Deno.test("an administrator sees the directories, and takes out one that was added", async () => {
  const base = Deno.realPathSync(await Deno.makeTempDir());
  for (const name of ["notes", "code"]) await Deno.mkdir(`${base}/${name}`);
  await Deno.writeTextFile(`${base}/code/f`, "f");
  const env = { WORKSPACE_DIR: `notes=${base}/notes,gone=${base}/<b>gone` };
  await using desk = await startDesk({ env });
  const { owner, place } = desk;
  try {
    const added = await runCommand(["workspace", "add", `code=${base}/code:ro`], {
      env: { ...env, DATA_DIR: place.dataDir },
    });
    assert.equal(added.code, 0, added.stderr);
    await until("it is taken in", async () => {
      const { text } = await desk.call("file_read", { filename: "code/f" }).catch(() => ({ text: "" }));
      return /^f/m.test(text) || null;
    });
    const page = await desk.page("settings");
    assert.match(page.html, /notes[^]*Read and write[^]*Set in WORKSPACE_DIR/);
    assert.match(page.html, /gone[^]*&lt;b&gt;gone[^]*Away/);
    assert.match(page.html, /aria-label="Take out code"/);
    assert.equal(page.html.match(/value="take_out"/g)?.length, 1, "only what was added");
    const done = await owner.submit(page, {}, 'value="take_out"');
    assert.match(done.html, /Taken out/);
    await until("it is gone", async () => {
      const { text } = await desk.call("file_read", { filename: "code/f" }).catch(() => ({ text: "" }));
      return text.includes("no such file") || null;
    });
    assert.equal(await Deno.readTextFile(`${base}/code/f`), "f");
    const after = await desk.page("settings");
    assert.ok(!after.html.includes("take_out"));
    const forged = await owner.submit(page, { directory: "notes" }, 'value="take_out"');
    assert.match(forged.html, /taken out already, or is set in WORKSPACE_DIR/);
    assert.match((await desk.page("activity?kind=")).html, /directory taken out|directory_taken_out/);
  } finally {
    await Deno.remove(base, { recursive: true });
  }
});

Deno.test("a workspace of one directory has no such list", async () => {
  await using desk = await startDesk();
  assert.ok(!(await desk.page("settings")).html.includes("Take out"));
});
