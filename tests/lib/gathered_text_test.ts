import assert from "node:assert/strict";
import { gatherText } from "../../src/lib/json_log.ts";

Deno.test("gathered text is the UTF-8 of all that was added, however it was split, and begins anew once taken", () => {
  const pieces = ["plain\n", "Grüße 漢字 😀\n", "x".repeat(5_000), "\u2028".repeat(5_000), ""];
  for (const count of [1, 7, 400]) {
    const gathered = gatherText();
    const added = Array.from({ length: count }, (_, index) => pieces[index % pieces.length] ?? "");
    for (const piece of added) gathered.add(piece);
    const taken = gathered.take();
    gathered.add("next");
    assert.equal(new TextDecoder().decode(taken), added.join(""), `${count} pieces`);
    assert.deepEqual([...gathered.take()], [...new TextEncoder().encode("next")]);
    assert.equal(gathered.size, 0);
    assert.equal(gathered.take().length, 0);
  }
});

Deno.test("gathered text beyond printable ASCII passes its last step in whole pieces, each once", () => {
  const gathered = gatherText((text) => text.replaceAll("äb", "c"));
  for (let index = 0; index < 5_000; index++) gathered.add("äb");
  assert.equal(new TextDecoder().decode(gathered.take()), "c".repeat(5_000));
  const shown = gatherText((text) => text.replaceAll("\u007f", "?"));
  for (const text of ["plain ", "\u007f "]) {
    shown.add(text.repeat(5_000)); // a piece of its own
    assert.equal(new TextDecoder().decode(shown.take()), text.replace("\u007f", "?").repeat(5_000));
  }
});
