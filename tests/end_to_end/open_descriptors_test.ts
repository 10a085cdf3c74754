/** What calls open they close, in every form of the program: a bundler may drop what the sources say. */
import assert from "node:assert/strict";
import { form, needing } from "../fixtures/forms/chosen_form.ts";
import { withFileServer } from "../fixtures/file_server.ts";

const onDisk = needing("one process");
/** Of each kind of change. */
const rounds = 40;
/** The database's files, pieces of the program that are read late, connections. */
const spare = 20;

for (const [what, env] of [["with a trash", {}], ["without a trash", { TRASH_KEEP: "0" }]] as const) {
  onDisk.test(`changes, undone ones, searches, lists and deleted directories leave no descriptor open, ${what}`, () =>
    withFileServer({ env }, async ({ server, done }) => {
      if (Deno.build.os !== "linux") return;
      const countOpen = (): number => [...Deno.readDirSync(`/proc/${server.pid}/fd`)].length;
      const change = async (round: number): Promise<void> => {
        await done("file_write", { filename: "kept.txt", content: `round ${round}` });
        await done("file_edit", { path: "kept.txt", edits: [{ old_text: "round", new_text: "turn" }] });
        if (what === "with a trash") await done("file_undo", {});
        await done("file_write", { filename: "kept.txt", content: "more", mode: "append" });
        await done("file_move", { path: "kept.txt", destination: "copy.txt", copy: true, overwrite: true });
        await done("file_read", { filename: "kept.txt:-1", files: ["copy.txt"] });
        await done("file_search", { query: "more", context: 1 });
        for (const show of ["details", "summary", "duplicates"]) await done("file_list", { show });
        await done("file_write", { filename: `tree/${"d/".repeat(20)}leaf.txt`, content: "x" });
        await done("file_delete", { path: "tree", recursive: true });
      };
      await change(0);
      const before = countOpen();
      for (let round = 1; round <= rounds; round++) await change(round);
      const more = countOpen() - before;
      assert.ok(more < spare, `${more} more descriptors are open on ${form.name}`);
    }));
}
