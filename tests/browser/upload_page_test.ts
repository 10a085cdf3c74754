/** A person uploads a file by a link, in a real browser. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { withFileServer } from "../fixtures/file_server.ts";
import { stagedFiles, uploadLink } from "../transfer/links.ts";
import { chromiumTest } from "./chromium.ts";
import { accessibilityProblems, assertFits } from "./page_checks.ts";
import { openPage, picture } from "./steps.ts";

const content = Buffer.alloc(5_000_000, "abc");
const longName = `reports/${"quarterly-figures-".repeat(12)}.bin`;

chromiumTest(
  "a person uploads on the page of a link, and it is well made in every state",
  (browser) =>
    withFileServer({ env: { WORKSPACE_QUOTA_BYTES: "6000000" } }, async (files) => {
      const url = await uploadLink(files, longName);
      for (const colorScheme of ["light", "dark"] as const) {
        const page = await openPage(browser, { colorScheme, viewport: { width: 320, height: 640 } });
        await page.goto(url);
        await picture(page, `upload-${colorScheme}`);
        await assertFits(page);
        assert.deepEqual(await accessibilityProblems(page), []);
        await page.context().close();
      }

      const page = await openPage(browser, { viewport: { width: 320, height: 640 } });
      const problems: string[] = [];
      page.on("console", (message) => problems.push(message.text()));
      await page.goto(url);
      await page.getByRole("button", { name: "Upload" }).click();
      assert.equal(
        await page.getByRole("heading").textContent(),
        "Upload a file",
        "nothing was chosen, nothing sent",
      );
      await page.getByLabel("File").setInputFiles({ name: "x.html", mimeType: "text/html", buffer: content });
      await page.getByRole("button", { name: "Upload" }).click();
      await page.getByText("The file has arrived").waitFor();
      await picture(page, "uploaded");
      await assertFits(page);
      assert.deepEqual(problems, []);
      assert.deepEqual(await page.context().cookies(), []);
      assert.ok(content.equals(Deno.readFileSync(`${files.root}/${longName}`)));

      const other = await openPage(browser);
      await other.goto(await uploadLink(files, "too-much"));
      for (const size of [30_000_000, 2_000_000]) { // refused before it is read, and in the middle
        Deno.writeFileSync(`${files.dataDir}/chosen`, new Uint8Array(size));
        await other.getByLabel("File").setInputFiles(`${files.dataDir}/chosen`);
        await other.getByRole("button", { name: "Upload" }).click();
        await other.locator(".note.bad").waitFor();
      }
      await picture(other, "upload-refused");
      assert.deepEqual(await accessibilityProblems(other), []);
      await other.getByLabel("File").setInputFiles({ name: "b", mimeType: "text/plain", buffer: Buffer.alloc(9) });
      await other.getByRole("button", { name: "Upload" }).click();
      await other.getByText("The file has arrived").waitFor();
      assert.deepEqual(await accessibilityProblems(other), []);

      const framed = await uploadLink(files, "framed");
      const outer = await openPage(browser);
      await outer.setContent(`<iframe src="${framed}"></iframe>`);
      const frame = await (await outer.waitForSelector("iframe")).contentFrame();
      await frame?.waitForURL("chrome-error://**"); // the browser refuses to show it there
      assert.deepEqual(stagedFiles(files.root), []);
    }),
);
