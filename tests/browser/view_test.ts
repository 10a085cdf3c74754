/** The view of results (MCP Apps) in Chromium, in a host made of the extension's own bridge. */
import assert from "node:assert/strict";
// @ts-expect-error: the package's types name no default
import schema from "@modelcontextprotocol/ext-apps/schema.json" with { type: "json" };
import * as z from "zod";
import type { Browser, Frame, FrameLocator, Page } from "playwright-core";
import { startDesk } from "../console/desk.ts";
import { startServicenowServer } from "../fixtures/servicenow/server.ts";
import { until } from "../fixtures/until.ts";
import { type AppsHost, startAppsHost } from "./apps_host/apps_host.ts";
import { chromiumTest } from "./chromium.ts";
import { accessibilityProblems } from "./page_checks.ts";
import { openPage, picture } from "./steps.ts";

interface Seen {
  readonly sent: readonly Readonly<Record<string, unknown>>[];
  readonly links: readonly string[];
  readonly messages: readonly { readonly content: readonly { readonly text: string }[] }[];
  readonly contexts: readonly { readonly content: readonly { readonly text: string }[] }[];
  readonly sizes: readonly number[];
}

interface Shown {
  readonly page: Page;
  readonly view: FrameLocator;
  call(name: string, input: Record<string, unknown>, options?: Record<string, unknown>): Promise<void>;
  seen(): Promise<Seen>;
  frame(): Frame;
  /** Addresses that the page or the view asked for, beside the host's own. */
  readonly foreign: readonly string[];
}

async function openHost(browser: Browser, host: AppsHost, width = 760): Promise<Shown> {
  const page = await openPage(browser, { viewport: { width, height: 900 } });
  const foreign: string[] = [];
  const problems: string[] = [];
  page.on("request", (request) => {
    const url = new URL(request.url());
    const isOwn = ["127.0.0.1", "localhost"].includes(url.hostname) || url.protocol === "data:";
    if (!isOwn || url.pathname.length > 10) foreign.push(request.url());
  });
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(host.url);
  await page.evaluate("host.connect()");
  return {
    page,
    foreign,
    view: page.frameLocator("iframe").frameLocator("iframe"),
    async call(name, input, options = {}) {
      const call = JSON.stringify([name, input, options]);
      await page.evaluate(`globalThis.answer = host.call(...${call}); undefined`);
    },
    seen: () => page.evaluate("host.seen"),
    frame: () => page.frames().find((each) => each.parentFrame()?.parentFrame() === page.mainFrame()) ?? assert.fail(),
  };
}

/** By the extension's own schema, for what it has one. */
const schemas: Readonly<Record<string, string>> = {
  "ui/initialize": "McpUiInitializeRequest",
  "ui/notifications/initialized": "McpUiInitializedNotification",
  "ui/notifications/size-changed": "McpUiSizeChangedNotification",
  "ui/open-link": "McpUiOpenLinkRequest",
  "ui/message": "McpUiMessageRequest",
  "ui/update-model-context": "McpUiUpdateModelContextRequest",
};

/** Everything that the view sent is a message of the extension, or of MCP as it lets views use it. */
async function checkMessages(shown: Shown): Promise<void> {
  const { sent } = await shown.seen();
  assert.ok(sent.length > 3);
  for (const { jsonrpc, id: _, ...message } of sent) {
    assert.equal(jsonrpc, "2.0");
    const { method } = message;
    if (method === undefined || method === "ui/notifications/sandbox-proxy-ready") continue; // an answer; the frame's own
    if (method === "tools/call" || method === "resources/read") continue; // the server has checked them
    const parsed = z.fromJSONSchema(schema.$defs[schemas[String(method)] ?? assert.fail(String(method))]);
    assert.ok(parsed.safeParse(message).success, JSON.stringify(message));
  }
}

const state = ({ view }: Shown, words: string) => view.getByRole("status").getByText(words, { exact: true }).waitFor();

async function checkFrame({ page, frame }: Shown, name: string): Promise<void> {
  const axePage = Object.assign(Object.create(page) as Page, { evaluate: frame().evaluate.bind(frame()) });
  assert.deepEqual(await accessibilityProblems(axePage), [], name);
  const overflow = await frame().evaluate(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  assert.ok(Number(overflow) <= 0, `${name} scrolls sideways by ${overflow}`);
}

/** The same in both schemes, with a picture of each. */
async function lookAt(shown: Shown, name: string): Promise<void> {
  for (const theme of ["dark", "light"]) {
    await shown.page.evaluate(`host.setTheme("${theme}")`);
    await until(
      "the scheme is the host's",
      async () => await shown.frame().evaluate("document.documentElement.style.colorScheme") === theme,
    );
    await until("the frame has the view's height", async () => {
      const [wanted, has] = await Promise.all([
        shown.frame().evaluate("Math.ceil(document.querySelector('main').getBoundingClientRect().height)"),
        shown.page.evaluate("document.querySelector('iframe').clientHeight"),
      ]);
      return wanted === has;
    });
    await checkFrame(shown, `${name}, ${theme}`);
    await picture(shown.page, `view_${name}_${theme}`);
  }
}

chromiumTest("view: a difference in colour, undone and made again by the person", async (browser) => {
  await using desk = await startDesk();
  await using host = await startAppsHost(desk.server, desk.token);
  const shown = await openHost(browser, host);
  const { view, page } = shown;
  const before = Array.from({ length: 12 }, (_, at) => `line ${at + 1}`).join("\n");
  await desk.call("file_write", { filename: "notes/plan.md", content: `${before}\n` });
  await shown.call("file_edit", {
    edits: [
      { path: "notes/plan.md", old_text: "line 3\nline 4", new_text: "the third\nthe fourth\nand one more" },
      { path: "notes/plan.md", old_text: "line 11", new_text: "the eleventh" },
    ],
  });
  await state(shown, "Done");
  await view.getByRole("heading", { name: "Edit files", exact: true }).waitFor();
  assert.deepEqual(await view.locator("del").allTextContents(), ["-line 3", "-line 4", "-line 11"]);
  assert.deepEqual(await view.locator("ins").allTextContents(), [
    "+the third",
    "+the fourth",
    "+and one more",
    "+the eleventh",
  ]);
  const numbers = (name: string) =>
    view.locator(name).evaluateAll((all) => all.map((each) => each.getAttribute("data-line")));
  assert.deepEqual([await numbers("del"), await numbers("ins")], [["3", "4", "11"], ["3", "4", "5", "12"]]);
  await lookAt(shown, "difference");
  // by keyboard alone: the difference, then the acts
  await view.getByRole("group", { name: "Difference in notes/plan.md" }).focus();
  await page.keyboard.press("Tab");
  await view.locator("button:focus").getByText("Undo").waitFor();
  await page.keyboard.press("Enter");
  await state(shown, "Undone");
  assert.match((await desk.call("file_read", { filename: "notes/plan.md" })).text, /line 3\nline 4/);
  assert.match(
    (await shown.seen()).contexts[0]?.content[0]?.text ?? "",
    /^The user chose Undo in the view: Undid file_edit/,
  );
  await view.locator("button:focus").getByText("Redo").waitFor(); // where Undo was
  await page.keyboard.press("Enter");
  await state(shown, "Done");
  assert.match((await desk.call("file_read", { filename: "notes/plan.md" })).text, /the third/);
  await view.getByRole("button", { name: "Open in the console" }).click();
  const link = new URL(await openedLink(shown));
  assert.deepEqual([link.origin, link.pathname], [desk.server.url, "/console/change"]);
  assert.match((await desk.page(`change${link.search}`)).html, /the third/);
  // a new file, a dry run, and one that fails
  await shown.call("file_write", { filename: "b.txt", content: "b\n", files: [{ filename: "c.txt", content: "c" }] });
  await state(shown, "Done");
  await view.getByText("Writes b.txt (a new file):").waitFor();
  await shown.call("file_edit", { path: "b.txt", old_text: "b", new_text: "B", dry_run: true });
  await state(shown, "Dry run");
  assert.equal(await view.getByRole("button", { name: "Undo" }).count(), 0);
  await shown.call("file_edit", { path: "b.txt", old_text: "never", new_text: "B" });
  await state(shown, "Failed");
  await view.getByText(/old_text is not/).or(view.getByText("Failed to edit file")).first().waitFor();
  await checkMessages(shown);
  assert.deepEqual(shown.foreign, []);
});

chromiumTest("view: what an agent wrote is text, whatever it holds", async (browser) => {
  await using desk = await startDesk();
  await using host = await startAppsHost(desk.server, desk.token);
  const shown = await openHost(browser, host);
  const attack =
    `<img src="http://127.0.0.1:9/long-enough-path" onerror="parent.postMessage('x','*')"><script>document.title='taken'</script>`;
  await shown.call("file_write", {
    filename: "<b>bold<b>.txt",
    content: `${attack}\n@@ -1 +1 @@\n</pre>${attack}\nun\u200bseen\u{e0041}\r\n`,
  });
  await state(shown, "Done");
  assert.equal(await shown.view.locator("img, b").count(), 0);
  assert.match(await shown.view.locator("ins").first().textContent() ?? "", /^\+<img src=/);
  assert.match(await shown.view.locator("ins").last().textContent() ?? "", /^\+un\\u\{200B\}seen\\u\{E0041\}\s*$/);
  // a result that no tool of ours gave: no address but of the web, no picture but a picture
  const result = {
    content: [{ type: "image", mimeType: "text/html", data: "PGI+" }, { type: "text", text: attack }],
    _meta: {
      "portcullis/view": {
        title: attack,
        data: {
          records: [{
            name: attack,
            title: attack,
            link: "javascript:alert(1)",
            changes: [{ label: attack, before: attack, after: attack }],
          }],
        },
      },
    },
  };
  await shown.page.evaluate(`host.result(${JSON.stringify(result)})`);
  await shown.view.getByRole("table").waitFor();
  assert.equal(await shown.view.locator("img").count(), 0);
  assert.equal(await shown.view.getByRole("button", { name: "Open in ServiceNow" }).count(), 0);
  await checkFrame(shown, "attack");
  assert.equal(await shown.frame().title(), "Portcullis");
  assert.deepEqual(shown.foreign, []);
});

async function openedLink(shown: Shown): Promise<string> {
  await until("a link was opened", async () => (await shown.seen()).links.length > 0);
  return (await shown.seen()).links.at(-1) ?? "";
}

chromiumTest("view: a held call waits, then is done, denied or approved, and never approved there", async (browser) => {
  await using desk = await startDesk();
  await using host = await startAppsHost(desk.server, desk.token);
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const shown = await openHost(browser, host);
  const { view } = shown;
  // while the client waits: done, live
  await shown.call("file_write", { filename: "a.txt", content: "one\n" });
  await state(shown, "Waits for your approval");
  assert.deepEqual(await view.getByRole("button").allTextContents(), ["Decide in the console"]);
  await view.getByRole("button").click();
  const link = await openedLink(shown);
  assert.ok(link.startsWith(`${desk.server.url}/console/decisions?call=`), link);
  await lookAt(shown, "waits");
  await desk.decide("approve");
  await state(shown, "Done");
  await view.getByText("+one").waitFor();
  // of two calls that wait, each view shows its own
  const other = desk.call("file_write", { filename: "other.txt", content: "x" });
  await until("the other waits", async () => (await desk.page("decisions")).html.includes("other.txt"));
  await shown.call("file_write", { filename: "mine.txt", content: "y" });
  await state(shown, "Waits for your approval");
  assert.match(await view.locator("details").textContent() ?? "", /mine\.txt/);
  await view.getByRole("button").click();
  await until("another link was opened", async () => (await shown.seen()).links.length === 2);
  const id = new URL(await openedLink(shown)).searchParams.get("call") ?? "";
  assert.match((await desk.page(`decisions?call=${id}`)).html, /mine\.txt/);
  await desk.decide("approve");
  await desk.decide("approve");
  await state(shown, "Done");
  assert.equal((await other).isError, false);
  // denied, with the person's words; a host that does not say which tool it is
  await shown.call("file_write", { filename: "b.txt", content: "two\n" }, { hasToolInfo: false });
  await state(shown, "Waits for your approval");
  await desk.decide("deny", { word: "Not <b>today</b>" });
  await state(shown, "Denied");
  await view.getByText("Not <b>today</b>").waitFor();
  await lookAt(shown, "denied");
});

chromiumTest(
  "view: when the client gave up, it shows what was decided, and when the call was made",
  async (browser) => {
    await using desk = await startDesk({ patienceMs: 200 });
    await using host = await startAppsHost(desk.server, desk.token);
    await desk.rule({ tool: "file_write", verdict: "ask" });
    const shown = await openHost(browser, host);
    const { view } = shown;
    const input = { filename: "a.txt", content: "one\n" };
    await shown.call("file_write", input);
    await state(shown, "Waits for your approval");
    await desk.decide("approve");
    await state(shown, "Approved");
    await view.getByRole("button", { name: "Tell the agent" }).click();
    await until("the host has the message", async () => (await shown.seen()).messages.length > 0);
    const [message] = (await shown.seen()).messages;
    assert.match(message?.content[0]?.text ?? "", /^Approved in the console: call file_write again/);
    await lookAt(shown, "approved");
    assert.equal((await desk.call("file_write", input)).isError, false); // the agent calls again, and another view shows it
    await state(shown, "Done");
    await checkMessages(shown);
    // a host that reads no resources and opens no links is told in words
    await shown.call("file_write", { ...input, content: "two\n" }, {
      capabilities: { serverResources: null, openLinks: null },
    });
    await state(shown, "Waits for your approval");
    assert.equal(await view.getByRole("button").count(), 0);
  },
);

chromiumTest("view: an undo that a rule holds is made once it is approved; a picture, a text", async (browser) => {
  await using desk = await startDesk({ patienceMs: 200 });
  await using host = await startAppsHost(desk.server, desk.token);
  const shown = await openHost(browser, host);
  const { view } = shown;
  await Deno.writeFile(`${desk.place.workspaceDir}/dot.png`, await shown.page.screenshot());
  await shown.call("file_read", { filename: "dot.png" });
  await view.getByRole("img", { name: "dot.png" }).waitFor();
  assert.equal(
    await shown.frame().evaluate("document.querySelector('img').decode().then(() => 'a picture')"),
    "a picture",
  );
  await lookAt(shown, "picture");
  await shown.call("file_write", { filename: "a.txt", content: "one\n".repeat(200) });
  await state(shown, "Done");
  await shown.call("file_read", { filename: "a.txt" });
  await view.locator("summary").getByText("a.txt").click();
  assert.ok((await view.locator("pre").textContent() ?? "").includes("one\none"));
  assert.deepEqual(await view.getByRole("button").allTextContents(), []);
  // the undo waits, too
  await desk.rule({ tool: "file_undo", verdict: "ask" });
  await shown.call("file_edit", { path: "a.txt", old_text: "one", new_text: "two", replace_all: true });
  await state(shown, "Done");
  await view.getByRole("button", { name: "Undo" }).click();
  await state(shown, "Waits for your approval");
  assert.deepEqual(await view.getByRole("button").allTextContents(), ["Decide in the console"]);
  await desk.decide("approve");
  await state(shown, "Approved");
  await view.getByRole("button", { name: "Undo" }).click();
  await state(shown, "Undone");
  assert.match((await desk.call("file_read", { filename: "a.txt" })).text, /one\none/);
  assert.deepEqual(shown.foreign, []);
});

chromiumTest("view: the list of changes, and records of ServiceNow, down to 320 px", async (browser) => {
  await using place = await startServicenowServer();
  const token = await place.signIn("ada", "files:read files:write servicenow:read servicenow:write");
  await using host = await startAppsHost(place.server, token);
  const shown = await openHost(browser, host);
  const { view } = shown;
  await shown.call("servicenow_update", { id: "INC0010001", values: "urgency=high", dry_run: true });
  await state(shown, "Dry run");
  await shown.call("servicenow_update", { id: "INC0010001", values: "urgency=high\nwork_notes=Disk ordered" });
  await state(shown, "Done");
  await view.getByRole("row", { name: /Urgency 2 - Medium 1 - High/ }).waitFor();
  await lookAt(shown, "record");
  await shown.call("servicenow_search", { table: "incident" });
  await view.getByRole("table").waitFor();
  await lookAt(shown, "records");
  await shown.call("file_write", { filename: "a.txt", content: "a" });
  await state(shown, "Done");
  await shown.call("file_undo", {});
  await view.getByRole("table").waitFor();
  await lookAt(shown, "changes");
  await view.getByRole("row", { name: /a\.txt/ }).getByRole("button", { name: "Undo" }).click();
  await state(shown, "Undone");
  await shown.page.setViewportSize({ width: 320, height: 800 });
  await shown.call("servicenow_search", { table: "incident" });
  await view.getByRole("table").waitFor();
  await lookAt(shown, "records_narrow");
  assert.deepEqual(shown.foreign, []);
});
