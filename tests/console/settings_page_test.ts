/** What the settings page shows: times as people read them, whatever their setting is called. */
import assert from "node:assert/strict";
import { settings } from "../../src/app/config/settings.ts";
import { settingsSection } from "../../src/console/pages/settings_in_force.ts";

Deno.test("each number of seconds is shown in words, exact on hover", async () => {
  const counts = settings.filter(({ help }) => /\bseconds\b/.test(help));
  assert.ok(counts.length >= 3, counts.map(({ env }) => env).join(" "));
  const section = settingsSection({
    ...{ log: { write: () => {}, flush: () => {} }, directories: null },
    settings: counts.map(({ env }) => ({ heading: "All", name: env, value: "7200", source: "environment" })),
  });
  const { markup: shown } = await section.show({} as never, {}) as { readonly markup: string };
  for (const { env } of counts) {
    const row = shown.split("<tr>").find((each) => each.replaceAll("<wbr>", "").includes(`>${env}<`)) ?? shown;
    assert.ok(row.includes('<span title="7200 s">2 hours</span>'), `${env}: ${row}`);
  }
});
