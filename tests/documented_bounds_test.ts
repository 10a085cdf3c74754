import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { settings } from "../src/app/config/settings.ts";

Deno.test("every bound that docs/architecture.md names is a setting, or a number where it says", () => {
  const page = readFileSync(new URL("../docs/architecture.md", import.meta.url), "utf8");
  const [, section = ""] = page.split("## What bounds a call\n");
  const rows = (section.split("\n## ")[0] ?? "").split(/^- /m).slice(1);
  const variables = new Set<string>(settings.map(({ env }) => env));
  let constants = 0;
  for (const row of rows) {
    const cell = row.replace(/^\*\*.*?\*\*/, "");
    const named = [...cell.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name).filter((name) =>
      !name.includes("_") || /^[A-Z_]+$/.test(name)
    );
    assert.ok(named.length > 0, row);
    for (const name of named) {
      if (/^[A-Z_]+$/.test(name)) {
        assert.ok(variables.has(name), `${name} is a setting`);
        continue;
      }
      const [, path] = new RegExp(`\`${name}\`[^(]*\\(([\\w/.]+)\\)`).exec(cell) ?? [];
      assert.ok(path !== undefined, `${name} has a place`);
      const source = readFileSync(new URL(`../src/${path}`, import.meta.url), "utf8");
      const defined = new RegExp(`^(export )?const ${name}\\b|\\b${name}(:| =) [\\d(]`, "m");
      assert.match(source, defined, `${name} is in ${path}`);
      constants++;
    }
  }
  assert.ok(rows.length > 20 && constants > 25, `${rows.length} rows, ${constants} constants`);
});

Deno.test("every step of the call that docs/architecture.md traces is a function where it says", () => {
  const page = readFileSync(new URL("../docs/architecture.md", import.meta.url), "utf8");
  const [, section = ""] = page.split("## One tools/call, traced\n");
  const steps = [...(section.split("\n## ")[0] ?? "").matchAll(/`(\w+)`\s+\((\w[\w/]*\.ts)\)/g)];
  for (const [, name, path] of steps) {
    const source = readFileSync(new URL(`../src/${path}`, import.meta.url), "utf8");
    assert.match(source, new RegExp(`^(export )?(async )?function ${name}\\b`, "m"), `${name} is in ${path}`);
  }
  assert.ok(steps.length >= 10, `${steps.length} steps`);
});
