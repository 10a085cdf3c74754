/**
 * The view in the extension's own example host, `examples/basic-host` of modelcontextprotocol/ext-apps: its built pages
 * are in the directory that BASIC_HOST names. Without them the tests are skipped by name.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import process from "node:process";
import type { Browser, FrameLocator, Page } from "playwright-core";
import { startDesk } from "../console/desk.ts";
import { until } from "../fixtures/until.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { launchChromium, missingBrowser } from "./chromium.ts";
import { openPage, picture } from "./steps.ts";

const built = process.env["BASIC_HOST"] ?? "";
const missing = missingBrowser ?? (existsSync(`${built}/index.html`) ? null : "BASIC_HOST names no built host");

/** Where the host expects the frame between it and the view; its policy is the one that the host's own server sets. */
const sandboxUrl = "http://localhost:8081/sandbox.html";
const policy = "default-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data:; " +
  "style-src 'self' 'unsafe-inline' blob: data:; img-src 'self' data: blob:; connect-src 'self'; frame-src 'none'";

/** The host does not say that it shows views, though it does: this says it, and adds the token, on the way. */
function serveHost({ url }: { readonly url: string }, token: string) {
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  return Deno.serve(options, async (request) => {
    const { pathname, origin } = new URL(request.url);
    if (pathname === "/api/servers") return Response.json([`${origin}/mcp`]);
    if (pathname !== "/mcp") {
      return new Response(await Deno.readTextFile(`${built}/index.html`), { headers: { "content-type": "text/html" } });
    }
    const headers = new Headers(request.headers);
    for (const name of ["origin", "host", "referer", "content-length"]) headers.delete(name);
    headers.set("authorization", `Bearer ${token}`);
    const { method, signal } = request;
    const text = method === "POST" ? await request.text() : null;
    const extensions = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };
    const body = text?.replace('"capabilities":{', `"capabilities":{"extensions":${JSON.stringify(extensions)},`)
      .replace(",}", "}") ?? null;
    return await fetch(`${url}/mcp`, { method, headers, body, signal });
  });
}

async function openHost(browser: Browser, port: number): Promise<Page> {
  const page = await openPage(browser, { viewport: { width: 900, height: 900 }, colorScheme: "light" });
  const headers = { "content-type": "text/html", "content-security-policy": policy };
  const body = await Deno.readTextFile(`${built}/sandbox.html`);
  await page.route(`${sandboxUrl}**`, (route) => route.fulfill({ headers, body }));
  await page.goto(`http://localhost:${port}/`);
  await page.locator("option").getByText("file_edit").waitFor({ state: "attached" });
  return page;
}

/** Calls a tool by the host's own form, and gives the view of this call. */
async function call(page: Page, tool: string, input: Record<string, unknown>): Promise<FrameLocator> {
  const before = await page.locator("iframe").count();
  await page.locator("select").last().selectOption(tool);
  await page.locator("textarea").fill(JSON.stringify(input));
  await page.getByRole("button", { name: "Call Tool" }).click();
  const view = page.frameLocator(`iframe >> nth=${before}`).frameLocator("iframe");
  await view.getByRole("heading").first().waitFor();
  return view;
}

const state = (view: FrameLocator, words: string) =>
  view.getByRole("status").getByText(words, { exact: true }).waitFor();

async function lookAt(page: Page, name: string): Promise<void> {
  for (const theme of ["dark", "light"]) {
    await page.getByTitle(`Switch to ${theme} mode`).click();
    await page.waitForTimeout(500); // the host moves to the view's height
    await picture(page, `basic_host_${name}_${theme}`);
  }
}

const name = "basic host: a held call waits, is done live, undone or denied, by mouse and by keyboard";
Deno.test({
  ...skippedUnless(missing === null, missing ?? "", name),
  fn: async () => {
    const browser = await launchChromium();
    try {
      await story(browser);
    } finally {
      await browser.close();
    }
  },
});

async function story(browser: Browser): Promise<void> {
  await using desk = await startDesk({ patienceMs: 50_000 });
  await using host = serveHost(desk.server, desk.token);
  await desk.rule({ tool: "file_edit", verdict: "ask" });
  await desk.call("file_write", { filename: "plan.md", content: "one\ntwo\nthree\n" });
  const page = await openHost(browser, host.addr.port);
  const edit = { path: "plan.md", old_text: "two", new_text: "the second" };
  const view = await call(page, "file_edit", edit);
  await state(view, "Waits for your approval");
  await lookAt(page, "waits");
  const opened = page.waitForEvent("popup");
  await view.getByRole("button", { name: "Decide in the console" }).click();
  assert.ok((await opened).url().startsWith(`${desk.server.url}/`));
  await desk.decide("approve");
  await state(view, "Done");
  assert.deepEqual(await view.locator("ins").allTextContents(), ["+the second"]);
  await lookAt(page, "done");
  await view.getByRole("group", { name: "Difference in plan.md" }).focus();
  await page.keyboard.press("Tab");
  await view.locator("button:focus").getByText("Undo").waitFor();
  await page.keyboard.press("Enter");
  await state(view, "Undone");
  assert.equal(await Deno.readTextFile(`${desk.place.workspaceDir}/plan.md`), "one\ntwo\nthree\n");
  await view.locator("button:focus").getByText("Redo").waitFor(); // where Undo was
  const console = page.waitForEvent("popup");
  await page.keyboard.press("Tab");
  await view.locator("button:focus").getByText("Open in the console").waitFor();
  await page.keyboard.press("Enter");
  assert.ok((await console).url().startsWith(`${desk.server.url}/`));
  await lookAt(page, "undone");
  const other = await call(page, "file_edit", { ...edit, new_text: "another" });
  await state(other, "Waits for your approval");
  await desk.decide("deny", { word: "Not today" });
  await state(other, "Denied");
  await other.getByText("Not today").waitFor();
  await lookAt(page, "denied");
  await until(
    "nothing was written",
    async () => await Deno.readTextFile(`${desk.place.workspaceDir}/plan.md`) === "one\ntwo\nthree\n",
  );
}
