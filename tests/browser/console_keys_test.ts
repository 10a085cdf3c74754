/** Approvals by keyboard in Chromium: j and k choose a call, a and d decide about the one that is chosen. */
import assert from "node:assert/strict";
import { isThere, startDesk } from "../console/desk.ts";
import { ownerPassphrase } from "../fixtures/owner.ts";
import { chromiumTest } from "./chromium.ts";
import { openPage } from "./steps.ts";

chromiumTest(
  "a call is chosen by j and k, approved by a and denied by d, and nothing happens while typing",
  async (browser) => {
    await using desk = await startDesk();
    await desk.rule({ tool: "file_write", verdict: "ask" });
    const page = await openPage(browser);
    await page.goto(`${desk.server.url}/console/decisions`);
    await page.getByLabel("Passphrase").fill(ownerPassphrase);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("#live-state").getByText("Live").waitFor();
    const write = async (file: string) => {
      const waiting = desk.call("file_write", { filename: file, content: "x" });
      await page.getByRole("article").filter({ hasText: file }).waitFor();
      await page.waitForTimeout(1_100); // forms that moved are not sent for a second
      return { waiting };
    };
    const [a, b] = [await write("a.txt"), await write("b.txt")];
    assert.match(await page.title(), /^\(2\) Approvals/);
    const icon = page.locator("link[rel=icon]");
    assert.match(await icon.getAttribute("href") ?? "", /circle/);
    await page.keyboard.press("a"); // none is chosen
    assert.equal(await page.getByRole("article").count(), 2);
    await page.getByLabel("Message to the agent (optional)").first().pressSequentially("add");
    assert.equal(await page.getByRole("article").count(), 2);
    await page.getByRole("heading", { level: 1 }).click();
    await page.keyboard.press("d"); // none is chosen
    assert.equal(await page.getByRole("article").count(), 2);
    const box = page.getByRole("checkbox", { name: "Keys" });
    await box.uncheck(); // WCAG 2.2, 2.1.4: single letters can be turned off, which lasts
    await page.reload();
    for (const key of ["j", "d"]) await page.keyboard.press(key);
    assert.equal(await page.getByRole("article").count(), 2);
    assert.equal(await box.isChecked(), false);
    await box.check();
    await page.locator("#live-state").getByText("Live").waitFor();
    await page.getByRole("heading", { level: 1 }).click();
    for (const key of ["j", "j", "k", "j", "d"]) await page.keyboard.press(key);
    await page.getByText("Denied: file_write on b.txt").waitFor();
    assert.ok((await b.waiting).isError);
    for (const key of ["j", "a"]) await page.keyboard.press(key);
    await page.getByText("Approved: file_write on a.txt").waitFor();
    assert.equal((await a.waiting).isError, false);
    assert.match(await page.title(), /^Approvals/);
    assert.doesNotMatch(await icon.getAttribute("href") ?? "", /circle/);
    assert.ok(await isThere(desk, "a.txt") && !await isThere(desk, "b.txt"));
  },
);
