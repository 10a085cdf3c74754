import assert from "node:assert/strict";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { chromiumTest } from "./chromium.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { accessibilityProblems, assertFits } from "./page_checks.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { openPage, passphrase, picture, typePassphrase } from "./steps.ts";

/** A test with a whole server and a real browser; without Chromium it is skipped by name. */
function consoleTest(name: string, run: (browser: Browser, server: RunningServer) => Promise<void>): void {
  chromiumTest(name, async (browser) => {
    await using place = await makeServerPlace();
    // For the page of ServiceNow: nothing is asked of the instance.
    const instance = { SERVICENOW_INSTANCE: "http://127.0.0.1:9", SERVICENOW_CLIENT_ID: "x" };
    await using server = await startServer(place, { env: { ...instance, SERVICENOW_CLIENT_SECRET: "y" } });
    await run(browser, server);
  });
}

const hostileName = `"><script>document.title="taken"</script><b>\u202eeman`;

/** In which every page is looked at. 400 % of 1,280 by 1,024 leaves a quarter of each (WCAG 2.2, 1.4.10). */
const looks: Readonly<Record<string, BrowserContextOptions>> = {
  light: { colorScheme: "light" },
  dark: { colorScheme: "dark" },
  forced: { forcedColors: "active" },
  zoomed: { viewport: { width: 320, height: 256 }, deviceScaleFactor: 4 },
};

/** As a new owner: the printed link, the passphrase, and the link to the console, which set-up has signed in to. */
async function setUpAndOpenConsole(page: Page, server: RunningServer): Promise<void> {
  await page.goto(server.setUpLink ?? "");
  await page.getByLabel("Passphrase", { exact: true }).fill(passphrase);
  await page.getByLabel("Repeat the passphrase").fill(passphrase);
  await page.getByRole("button", { name: "Set passphrase" }).click();
  await page.getByRole("link", { name: "console" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
}

async function createToken(server: RunningServer, name: string): Promise<string> {
  const made = await runCommand(["token", "create", "--name", name, "--scope", "files:read files:write"], {
    env: { DATA_DIR: server.dataDir },
  });
  assert.equal(made.code, 0, made.stderr);
  return made.stdout.trim();
}

/** Calls with names as hostile as callers can make them. */
async function callTools({ url }: RunningServer, token: string): Promise<void> {
  const script = `<script>document.title="taken"</script>`;
  const inputs = [
    ["file_write", { filename: "notes.txt", content: "hello\n" }],
    ["file_read", { filename: "notes.txt" }],
    ["file_read", { filename: script }],
    ["file_read", { filename: "\u202e'\"><img src=x onerror=alert(1)>" }],
    ["file_write", { filename: "../out", content: "x" }],
  ] as const;
  for (const [tool, input] of inputs) {
    await (await postMcp(url, toolCall(tool, input), { token })).body?.cancel();
  }
}

consoleTest("a new owner opens the console, sees a connection come, and ends it", async (browser, server) => {
  const page = await openPage(browser);
  const problems: string[] = [];
  page.on("console", (message) => problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  await setUpAndOpenConsole(page, server);
  await picture(page, "console-overview");
  await page.getByRole("link", { name: "Connections" }).click();
  await page.locator("#live-state").getByText("Live").waitFor();
  await createToken(server, "nightly job");
  const row = page.getByRole("row", { name: /nightly job/ });
  await row.waitFor(); // put there by the script: the page was not loaded again
  await picture(page, "console-connections");
  await row.getByRole("button", { name: "Remove access of nightly job" }).click();
  await page.getByText("Access removed.").waitFor();
  assert.equal(await row.count(), 0);
  assert.deepEqual(problems, []);
});

consoleTest("every page of the console works without script", async (browser, server) => {
  const page = await openPage(browser, { javaScriptEnabled: false });
  await page.goto(server.setUpLink ?? "");
  await page.getByLabel("Passphrase", { exact: true }).fill(passphrase);
  await page.getByLabel("Repeat the passphrase").fill(passphrase);
  await page.getByRole("button", { name: "Set passphrase" }).click();
  await page.getByRole("link", { name: "console" }).click();
  await createToken(server, "script");
  for (const name of await page.getByRole("navigation").getByRole("link").allTextContents()) {
    await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
    await page.getByRole("heading", { level: 1, name }).waitFor();
  }
  await page.getByRole("navigation").getByRole("link", { name: "Connections" }).click();
  await page.getByRole("button", { name: "Remove access of script" }).click();
  await page.getByText("Access removed.").waitFor();
});

consoleTest(
  "the console's pages are accessible narrow, dark, zoomed, in forced colours and print, and safe from hostile names",
  async (browser, server) => {
    const token = await createToken(server, hostileName.slice(0, 60).replace("\u202e", ""));
    const first = await openPage(browser);
    await setUpAndOpenConsole(first, server);
    const paths = new Set(await linksOf(first));
    for (const path of [...paths]) {
      await first.goto(path);
      for (const each of await linksOf(first)) paths.add(each);
    }
    for (const name of ["why", "people", "rules"]) {
      assert.ok(paths.has(`${server.url}/console/${name}`), name);
    }
    await registerHostileClient(server);
    await callTools(server, token);
    await first.goto(`${server.url}/console/rules`);
    await first.getByRole("button", { name: "Ask before anything is changed" }).click();
    await first.getByText("The rule was added.").waitFor();
    abandon(callTools(server, token));
    await first.goto(`${server.url}/console/decisions`);
    await first.getByRole("button", { name: "Approve" }).first().waitFor();
    for (const [look, options] of Object.entries(looks)) {
      const page = await openPage(browser, { bypassCSP: true, viewport: { width: 320, height: 800 }, ...options });
      await page.goto(`${server.url}/console`);
      await typePassphrase(page);
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      for (const path of paths) {
        await page.goto(path);
        await page.getByRole("heading", { level: 1 }).waitFor();
        assert.deepEqual(await accessibilityProblems(page), [], `${path} ${look}`);
        await assertFits(page);
        assert.doesNotMatch(await page.title(), /taken/);
        await picture(page, `console-320-${new URL(path).pathname.replaceAll("/", "-")}-${look}`);
      }
    }
    const printed = await openPage(browser, { viewport: { width: 718, height: 1_000 } }); // A4 within its margins
    await printed.goto(`${server.url}/console`);
    await typePassphrase(printed);
    await printed.getByRole("heading", { name: "Overview" }).waitFor();
    await printed.emulateMedia({ media: "print" });
    for (const path of paths) {
      await printed.goto(path);
      assert.ok(await printed.getByRole("heading", { level: 1 }).isVisible(), path);
      assert.equal(await printed.locator("nav:visible, form:visible").count(), 0, path);
    }
  },
);

/** The pages that the menu, and the place of the page, lead to. */
function linksOf(page: Page): Promise<string[]> {
  return page.getByRole("navigation").getByRole("link").evaluateAll((links) =>
    links.map((link) => (link as unknown as { href: string }).href)
  );
}

/** What lasts until the decision that no one makes is cut off with the server. */
function abandon(waiting: Promise<void>): void {
  waiting.catch(() => {});
}

async function registerHostileClient({ url }: RunningServer): Promise<void> {
  const response = await fetch(`${url}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: hostileName,
      redirect_uris: ["http://127.0.0.1/callback"],
      token_endpoint_auth_method: "none",
    }),
  });
  assert.equal(response.status, 201, await response.text());
}
