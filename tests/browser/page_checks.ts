/** What every page is held to. */
import assert from "node:assert/strict";
import axe from "axe-core";
import type { Page } from "playwright-core";

export async function assertFits(page: Page): Promise<void> {
  const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  assert.equal(overflow, 0, "the page scrolls sideways");
}

/** Short words of the paragraphs that a line's end, or what floats beside them, breaks in two. */
export async function brokenWords(page: Page): Promise<string[]> {
  return await page.evaluate(`(() => {
    const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    const broken = [];
    for (let text; (text = texts.nextNode()) !== null;) {
      if (text.parentElement.closest("p") === null) continue;
      for (const { 0: word, index } of text.data.matchAll(/(?<=^|\\s)[A-Za-z]{2,12}(?=\\s|[.,]|$)/g)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        if (new Set(Array.from(range.getClientRects(), ({ top }) => Math.round(top))).size > 1) broken.push(word);
      }
    }
    return broken;
  })()`);
}

/** What axe-core finds wrong with a page, by the rules of WCAG 2.2 A and AA and its best practices. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  // Evaluated by the debugger, past the page's policy, which forbids every script.
  await page.evaluate(axe.source);
  const results: axe.AxeResults = await page.evaluate("axe.run(document, { resultTypes: ['violations'] })");
  assert.ok(results.passes.length > 5, "axe-core looked at the page");
  return results.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}
