/** Starts the installed Chromium for tests, or says why it cannot. */
import { existsSync } from "node:fs";
import process from "node:process";
import { type Browser, chromium } from "playwright-core";
import { skippedUnless } from "../fixtures/skipped_unless.ts";

/** Chromium's headless shell starts in half the time. */
const [shellPath, wholePath] = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
const executablePath = process.env["CHROMIUM_PATH"] ?? (existsSync(shellPath) ? shellPath : wholePath);

/** Why the browser suite cannot run here, or `null`. */
export const missingBrowser: string | null = existsSync(executablePath)
  ? null
  : `no Chromium at ${executablePath}; set CHROMIUM_PATH`;

/** A headless Chromium that talks to nobody by itself; `more` arguments are Chromium's own. */
export function launchChromium(...more: readonly string[]): Promise<Browser> {
  return chromium.launch({
    executablePath,
    headless: true,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
      ...more,
    ],
  });
}

/** A test with a browser of its own, which it need not close. */
export function chromiumTest(name: string, run: (browser: Browser) => Promise<void>): void {
  Deno.test({
    ...skippedUnless(missingBrowser === null, missingBrowser ?? "", name),
    fn: async () => {
      const browser = await launchChromium();
      try {
        await run(browser);
      } finally {
        await browser.close();
      }
    },
  });
}
