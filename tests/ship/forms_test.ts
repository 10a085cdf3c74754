/**
 * The core of the end-to-end suite on each way to run Portcullis that this machine has: sign-in, the official SDKs,
 * files, models, ServiceNow, revocation, kill -9. In the gate the suite itself has the bundle, and this file the sources.
 * `deno task end-to-end all` runs the whole suite on all of them, and on the container.
 */
import assert from "node:assert/strict";
import { coreTests, runOnForm } from "../../scripts/end_to_end.ts";
import { madeOnce } from "../fixtures/forms/made_once.ts";
import { type FormName, whyMissing } from "../fixtures/forms/prepare_form.ts";

const forms: readonly (readonly [FormName, string])[] = [
  madeOnce ? ["start", "the sources"] : ["bundle", "the bundle, under the compiled program's permissions"],
  ["binary", "the compiled program"],
  ["deploy", "two instances as on Deno Deploy, on one database, without a disk"],
  ["fleet", "two instances on one PostgreSQL behind a round-robin proxy"],
];

for (const [form, title] of forms) {
  const name = `${title}: passes the core of the end-to-end suite`;
  const missing = whyMissing(form);
  if (missing !== null) {
    Deno.test({ name: `SKIPPED ${name}: ${missing}`, ignore: true, fn: () => {} });
  } else {
    Deno.test(name, async () => {
      const { success, output } = await runOnForm(form, coreTests, { isShown: false });
      assert.ok(success, output);
      const [, passed, ignored = "0"] = /^ok \| (\d+) passed.*?(?:\| (\d+) ignored)?/m.exec(output) ?? [];
      assert.ok(Number(passed) >= coreTests.length && ignored === "0", output);
    });
  }
}
