/** What the settings page shows: times and sizes as people read them, other values as they are. */
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

Deno.test("whole numbers of KiB, MiB and GiB are shown so, what is no time or size as it is", async () => {
  const cases = [
    ...[["A_BYTES", "67108864", '<span title="67108864 bytes">64 MiB</span>']],
    ...[["A_BYTES", "3221225472", '<span title="3221225472 bytes">3 GiB</span>']],
    ...[["A_BYTES_LIMIT", "1024", '<span title="1024 bytes">1 KiB</span>'], ["A_BYTES", "1000", "<code>1000</code>"]],
    ...[["PORT", "65536", "<code>65536</code>"], ["A_TTL", "0", "<code>0</code>"], [
      "A_TTL",
      "set",
      "<code>set</code>",
    ]],
    ...[["A_TTL", "90", '<span title="90 s">90 seconds</span>'], ["A", "<b>", "<code>&lt;b&gt;</code>"]],
  ];
  const section = settingsSection({
    ...{ log: { write: () => {}, flush: () => {} }, directories: null },
    settings: cases.map(([name = "", value = ""]) => ({ heading: "All", name, value, source: "environment" })),
  });
  const { markup } = await section.show({} as never, {}) as { readonly markup: string };
  const values = Array.from(markup.matchAll(/data-label="Value">(.*?)<\/td>/g), ([, value]) => value);
  assert.deepEqual(values, cases.map(([, , shown]) => shown));
});
