/**
 * The console in Chromium with a day's load in its tables: every page opens, fits a narrow window, and is paged.
 * CONSOLE_VISITS=all has the whole load, goes to the end of each list, and lets axe-core look.
 */
import assert from "node:assert/strict";
import process from "node:process";
import type { Page } from "playwright-core";
import { signIn as signInClient } from "../deploy/sign_in.ts";
import { fillAudit, fillConsole, loadedGrants, loadedHeldCalls, loadedRules } from "../fixtures/console_load.ts";
import { ownerPassphrase, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { chromiumTest } from "./chromium.ts";
import { accessibilityProblems, assertFits } from "./page_checks.ts";
import { openPage, picture } from "./steps.ts";

const isWhole = process.env["CONSOLE_VISITS"] === "all";
const lines = isWhole ? 100_000 : 5_000;
const mostPages = isWhole ? 30 : 2;
const narrow = { width: 320, height: 800 };

chromiumTest(
  "with a day's load each page of the console opens, fits 320 px, and is paged by cursors",
  async (browser) => {
    await using place = await makeServerPlace();
    await fillAudit(place.dataDir, { lines, days: 1 });
    const before = await startServer(place);
    const owner = createPerson(before.url);
    await setUpOwner(owner, before);
    await signInClient(before.url, owner, "files:write llm:generate");
    await before.stop();
    await fillConsole(place.dataDir);
    await using server = await startServer(place, { env: { PORT: new URL(before.url).port }, args: [] });
    const page = await openPage(browser, { bypassCSP: true, viewport: narrow });
    await page.goto(`${server.url}/console`);
    await page.getByLabel("Passphrase").fill(ownerPassphrase);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText(`${loadedHeldCalls} calls wait`).waitFor();
    await lookAtPages(page);
    await Promise.all(
      [
        { path: "connections", rows: "#grants tbody tr", next: "Used before these", size: 100, total: loadedGrants },
        { path: "decisions", rows: "article", next: "Asked after these", size: 10, total: loadedHeldCalls },
        { path: "rules", rows: ".rules > li", next: "none", size: loadedRules, total: loadedRules },
        { path: "activity?tool=file_edit", rows: "#ended tbody tr", next: "Older lines", size: 100, total: Infinity },
      ].map(async (list) => {
        const { rows, pages } = await countPages(page, server, list);
        assert.equal(rows, Math.min(list.total, list.size * pages), list.path);
        assert.equal(pages, Math.min(mostPages, Math.ceil(list.total / list.size)), list.path);
      }),
    );
  },
);

/** Each page fits the window. */
async function lookAtPages(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^Menu/ }).click(); // a narrow window folds the links away
  const links = page.getByRole("navigation").getByRole("link");
  const paths = await links.evaluateAll((all) => all.map((link) => (link as unknown as { href: string }).href));
  assert.ok(paths.length >= 6, paths.join());
  await Promise.all(paths.map(async (path) => {
    const tab = await page.context().newPage();
    await tab.goto(path);
    await tab.getByRole("heading", { level: 1 }).waitFor();
    await assertFits(tab);
    await tab.waitForFunction(`document.title.startsWith("(${loadedHeldCalls}) ")`); // what waits, on every page
    await tab.setViewportSize({ width: 375, height: 800 });
    await assertFits(tab);
    const wide = await tab.locator(".scroll").evaluateAll((all) =>
      all.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map(({ ariaLabel }) => ariaLabel)
    );
    assert.deepEqual(wide, [], `tables of ${path} that hide columns`);
    if (isWhole) assert.deepEqual(await accessibilityProblems(tab), [], path);
    await picture(tab, `console-load-${new URL(path).pathname.replaceAll("/", "-")}`);
    await tab.close();
  }));
}

/** Follows the link to the next page, and counts what is listed: each once. */
async function countPages(
  page: Page,
  { url }: RunningServer,
  list: { readonly path: string; readonly rows: string; readonly next: string },
): Promise<{ readonly rows: number; readonly pages: number }> {
  const tab = await page.context().newPage();
  await tab.goto(`${url}/console/${list.path}`);
  const seen: (string | null)[] = [];
  let pages = 1;
  for (;; pages++) {
    const texts = await tab.locator(list.rows).evaluateAll((all) => all.map(({ textContent }) => textContent));
    seen.push(...texts);
    const next = tab.getByRole("link", { name: list.next, exact: true });
    if (pages === mostPages || await next.count() === 0) break;
    const link = await next.getAttribute("href") ?? "";
    await next.click();
    await tab.waitForURL(new URL(link, url).href);
  }
  await tab.close();
  assert.equal(new Set(seen).size, seen.length, `${list.path}: each once`);
  return { rows: seen.length, pages };
}
