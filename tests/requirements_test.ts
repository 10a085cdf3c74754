/** docs/requirements.md names tests: each of them has to exist. */
import assert from "node:assert/strict";

const root = new URL("..", import.meta.url);

Deno.test("every test that docs/requirements.md names exists", async () => {
  const table = await Deno.readTextFile(new URL("docs/requirements.md", root));
  const references = Array.from(table.matchAll(/`([a-z0-9_/]+_test\.ts)`: ([^;|]+?)\s*(?=;|\|)/g));
  assert.ok(references.length > 40, "the table is read");
  for (const [, file, name] of references) {
    const source = await Deno.readTextFile(new URL(`tests/${file}`, root));
    assert.ok(source.includes(name ?? ""), `${file} has no test ${JSON.stringify(name)}`);
  }
});
