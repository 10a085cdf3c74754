/** Hands of a person at the console's pages: a mouse, or a keyboard alone. */
import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";

export interface Hands {
  press(button: Locator): Promise<void>;
  write(field: Locator, text: string): Promise<void>;
  /** Chooses the option with this label. */
  choose(list: Locator, label: string): Promise<void>;
  tick(box: Locator): Promise<void>;
}

export const mouse: Hands = {
  press: (button) => button.click(),
  write: (field, text) => field.fill(text),
  choose: async (list, label) => void await list.selectOption({ label }),
  tick: (box) => box.check(),
};

/** Everything is reached with Tab, in the order of the page. */
export function keyboardOf(page: Page): Hands {
  const { keyboard } = page;
  return {
    async press(button) {
      await tabTo(page, button);
      await keyboard.press("Enter");
    },
    async write(field, text) {
      await tabTo(page, field);
      await keyboard.press("ControlOrMeta+A");
      await keyboard.type(text);
    },
    async choose(list, label) {
      await tabTo(page, list);
      await keyboard.type(label);
      assert.equal(await list.locator("option:checked").textContent(), label);
    },
    async tick(box) {
      // Tab stops at one radio button of a group, and the arrows lead to the others.
      const group = box.page().locator(`input[name="${await box.getAttribute("name")}"]`);
      await tabTo(page, group.and(page.locator(":checked")).first());
      for (let presses = 0; presses < 10 && !await box.isChecked(); presses++) await keyboard.press("ArrowDown");
      assert.ok(await box.isChecked());
    },
  };
}

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  const near = await target.evaluate(stopsBefore);
  for (let presses = 0; presses < near - 3; presses++) await page.keyboard.press("Tab");
  for (let presses = 0; presses < 150; presses++) {
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail("Tab does not lead there");
}

/** What is used of the page's document, whose types this program does not have. */
interface PageElement {
  readonly ownerDocument: {
    readonly activeElement: PageElement;
    querySelectorAll(selector: string): Iterable<PageElement>;
  };
  getClientRects(): { readonly length: number };
}

/** About how many elements Tab stops at between the one that has the focus and this one: pressed without looking. */
function stopsBefore(target: unknown): number {
  const element = target as PageElement;
  const kinds = "a[href], button, select, summary, [tabindex], input:not([type=hidden], [type=radio])";
  const stops = [...element.ownerDocument.querySelectorAll(kinds)].filter((each) => each.getClientRects().length > 0);
  return stops.indexOf(element) - stops.indexOf(element.ownerDocument.activeElement) - 1;
}
