/** What the settings page shows: times and sizes as people read them, whatever their setting is called. */
import assert from "node:assert/strict";
import { settings } from "../../src/app/config/settings.ts";
import { settingsSection } from "../../src/console/pages/settings_in_force.ts";

Deno.test("each number of seconds or bytes is shown in words, exact on hover", async () => {
  const counts = settings.filter(({ help }) => /\bseconds\b|\bin bytes\b|^bytes\b/.test(help));
  assert.ok(counts.length >= 6, counts.map(({ env }) => env).join(" "));
  const section = settingsSection({
    ...{ log: { write: () => {}, flush: () => {} }, directories: null },
    settings: counts.map(({ env }) => ({ heading: "All", name: env, value: "7200", source: "environment" })),
  });
  const { markup: shown } = await section.show({} as never, {}) as { readonly markup: string };
  for (const { env, help } of counts) {
    const row = shown.split("<tr>").find((each) => each.replaceAll("<wbr>", "").includes(`>${env}<`)) ?? shown;
    const words = /\bseconds\b/.test(help) ? '<span title="7200 s">2 hours</span>' : "7200";
    assert.ok(row.includes(words), `${env}: ${row}`);
  }
});
