import assert from "node:assert/strict";
import { commandReference } from "../../scripts/command_reference.ts";
import { configurationReference } from "../../scripts/configuration_reference.ts";
import { settings } from "../../src/app/config/settings.ts";

Deno.test("docs/configuration.md is what the table of settings says; `deno task reference` writes it anew", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/configuration.md", import.meta.url));
  assert.equal(page, await configurationReference());
});

Deno.test("docs/commands.md is what the commands' help says; `deno task reference` writes it anew", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/commands.md", import.meta.url));
  assert.equal(page, await commandReference());
});

Deno.test("docs/configuration.md names every variable once, and each flag", async () => {
  const page = await configurationReference();
  for (const setting of settings) {
    assert.equal(page.match(new RegExp(`^\\| \`${setting.env}\` `, "gm"))?.length, 1, setting.env);
    if (setting.flag !== undefined) assert.ok(page.includes(`\`--${setting.flag}\``), setting.flag);
  }
});
