/**
 * Each act of each page of the console in Chromium: without script by mouse, and, of rules and decisions, with script by
 * keyboard. CONSOLE_VISITS=all visits everything in all four ways.
 */
import assert from "node:assert/strict";
import process from "node:process";
import type { Browser, Page } from "playwright-core";
import { callTool, createToken } from "../console/desk.ts";
import { ownerPassphrase, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, type RunningServer, type ServerPlace, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { chromiumTest } from "./chromium.ts";
import { type Hands, keyboardOf, mouse } from "./console_hands.ts";
import { brokenWords } from "./page_checks.ts";
import { openPage } from "./steps.ts";

interface Visit {
  readonly place: ServerPlace;
  readonly server: RunningServer;
  readonly browser: Browser;
  readonly page: Page;
  readonly hands: Hands;
  readonly token: string;
  open(section: string): Promise<void>;
  /** Presses a button of the page, and reads what the page says then. */
  press(name: string | RegExp, words: string | RegExp): Promise<void>;
  call(tool: string, input: Record<string, unknown>): ReturnType<typeof callTool>;
}

/** One way to visit the pages. */
interface Way {
  readonly hasScript: boolean;
  readonly byKeyboard: boolean;
  readonly all: boolean;
}

const ways: readonly Way[] = process.env["CONSOLE_VISITS"] === "all"
  ? [true, false].flatMap((hasScript) => [true, false].map((byKeyboard) => ({ hasScript, byKeyboard, all: true })))
  : [{ hasScript: false, byKeyboard: false, all: true }, { hasScript: true, byKeyboard: true, all: false }];

chromiumTest(
  "each act of each page of the console works with script by keyboard, and without script by mouse",
  async (browser) => {
    const visits = await Promise.allSettled(ways.map((way) => visitPages(browser, way)));
    for (const visit of visits) if (visit.status === "rejected") throw visit.reason;
  },
);

async function visitPages(browser: Browser, { hasScript, byKeyboard, all }: Way): Promise<void> {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  await setUpOwner(createPerson(server.url), server);
  const token = await createToken(place, "owner");
  const page = await openPage(browser, { javaScriptEnabled: hasScript, viewport: { width: 1_000, height: 800 } });
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  const hands = byKeyboard ? keyboardOf(page) : mouse;
  const visit: Visit = {
    ...{ place, server, browser, page, hands, token },
    open: async (section) => void await page.goto(`${server.url}/console/${section}`.replace(/\/$/, "")),
    async press(button, words) {
      await hands.press(page.getByRole("button", { name: button, exact: typeof button === "string" }).first());
      await page.getByText(words).first().waitFor();
    },
    call: (tool, input) => callTool(server, token, tool, input),
  };
  await visit.open("");
  await hands.write(page.getByLabel("Passphrase"), ownerPassphrase);
  await visit.press("Sign in", "Health");
  await Deno.writeTextFile(`${place.workspaceDir}/notes.txt`, "one\n");
  await setRules(visit);
  await decide(visit);
  if (all) {
    await steerCalls(visit);
    await undoFromTheAudit(visit);
    await managePeople(visit);
    await findOutWhy(visit);
  }
  await endConnection(visit);
  assert.deepEqual(problems, []);
}

async function setRules({ open, page, hands, press, call }: Visit): Promise<void> {
  assert.equal((await call("file_write", { filename: "first.txt", content: "x" })).isError, false);
  await open("rules");
  await press("Ask before anything is changed", "The rule was added.");
  await hands.press(page.locator("summary").getByText("Add a rule"));
  await hands.choose(page.getByLabel("What happens"), "Refuse");
  await hands.choose(page.getByLabel("Tool"), "file_read");
  await hands.write(page.getByLabel("Directory, file or table"), "secret");
  await press("Test on the last 24 hours", /would have refused/);
  await press("Add this rule", "The rule was added.");
  assert.match((await call("file_read", { filename: "secret/a.txt" })).text, /does not allow this call/);
  const rules = page.locator(".rules > li");
  assert.equal(await rules.count(), 2);
  await press(/^Remove Calls .*file_read/, "The rule was removed.");
  assert.equal(await rules.count(), 1);
}

/** Once, for an hour, always, and no, each with another tool. */
async function decide({ open, page, hands, press, call, place }: Visit): Promise<void> {
  const approved = "Approved: ";
  const held = async (tool: string, input: Record<string, unknown>) => {
    const waiting = call(tool, input);
    await until("the call waits", async () => {
      await open("decisions");
      return await page.getByRole("button", { name: "Deny" }).count() > 0;
    });
    return { waiting };
  };
  const edit = { path: "notes.txt", edits: [{ old_text: "one", new_text: "two" }] };
  const editing = await held("file_edit", edit);
  await page.getByText("+two").waitFor();
  for (const width of [360, 390, 420, 1_000]) {
    await page.setViewportSize({ width, height: 800 });
    assert.deepEqual(await brokenWords(page), [], `${width}`);
  }
  await press("Approve", approved);
  assert.equal((await editing.waiting).isError, false);

  const deleting = await held("file_delete", { path: "notes.txt" });
  await page.getByText("notes.txt").first().waitFor();
  await hands.write(page.getByLabel("Message to the agent (optional)"), "Keep the notes.");
  await page.keyboard.press("Enter"); // which must not approve
  await press("Deny", "Denied: ");
  const denied = await deleting.waiting;
  assert.ok(denied.isError && denied.text.includes("Keep the notes."), denied.text);

  const writing = await held("file_write", { filename: "hour.txt", content: "1" });
  await page.getByText("hour.txt").first().waitFor();
  await hands.tick(page.getByLabel(/for an hour/));
  await press("Approve", approved);
  assert.equal((await writing.waiting).isError, false);
  assert.equal((await call("file_write", { filename: "hour.txt", content: "2" })).isError, false);

  await Deno.writeTextFile(`${place.workspaceDir}/moved.txt`, "x");
  const moving = await held("file_move", { path: "moved.txt", destination: "there.txt" });
  await page.getByText("there.txt").first().waitFor();
  await hands.tick(page.getByLabel(/from now on/));
  await press("Approve", approved);
  assert.equal((await moving.waiting).isError, false);
  assert.equal((await call("file_move", { path: "there.txt", destination: "b.txt" })).isError, false);
}

async function steerCalls({ open, page, press, call }: Visit): Promise<void> {
  /** A held call runs until it is decided. */
  const running = async (): Promise<{ readonly waiting: ReturnType<typeof call> }> => {
    const waiting = call("file_delete", { path: "hour.txt" });
    await until("the call is seen", async () => {
      await open("activity");
      return await page.getByRole("button", { name: /^Cancel/ }).count() > 0 &&
        await await page.locator("#waiting-count").textContent() === "1";
    });
    return { waiting };
  };
  const cancelled = await running();
  await press(/^Cancel/, "The call was cancelled.");
  assert.ok((await cancelled.waiting).isError);
  const paused = await running();
  await press(/^Pause client/, "The client is paused.");
  assert.ok((await paused.waiting).isError);
  await press(/^Let it call again/, "The client may call again.");
  await press("Stop everything", "All calls are stopped.");
  const stopped = await call("file_read", { filename: "notes.txt" });
  assert.ok(stopped.isError, stopped.text);
  await open("people");
  await page.getByText("All calls are stopped. Activity lets them run again.").waitFor();
  await open("activity");
  await press("Let calls run again", "Calls run again.");
  assert.equal((await call("file_read", { filename: "notes.txt" })).isError, false);
}

async function undoFromTheAudit({ open, page, hands, press, place }: Visit): Promise<void> {
  await until("the edit is stored", async () => {
    await open("activity?tool=file_edit");
    return await page.getByRole("link", { name: "notes.txt" }).count() > 0;
  });
  await open("activity");
  await hands.write(page.getByLabel("Tool"), "file_edit");
  await hands.choose(page.getByLabel("Outcome"), "ok");
  await hands.press(page.getByRole("button", { name: "Search" }));
  await page.waitForURL(/tool=file_edit/);
  await page.getByRole("link", { name: "a token of the command line" }).first().waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    hands.press(page.getByRole("link", { name: "Export these as JSON Lines" })),
  ]);
  const lines = (await Deno.readTextFile(await download.path())).trim().split("\n");
  assert.ok(lines.length > 0 && lines.every((line) => JSON.parse(line).tool === "file_edit"), lines.join("\n"));
  await hands.press(page.getByRole("link", { name: "notes.txt" }).first());
  await page.getByText("+two").waitFor();
  await press("Undo this change", /./);
  await page.getByRole("status").first().waitFor();
  assert.equal(await Deno.readTextFile(`${place.workspaceDir}/notes.txt`), "one\n");
}

async function managePeople({ browser, open, page, hands, press, server }: Visit): Promise<void> {
  await open("people");
  await hands.write(page.getByLabel("User name"), "ada");
  await press("Create invite link", "Give this link to");
  const choosePassphrase = async (secret: string): Promise<Page> => {
    const link = await page.locator("pre").textContent() ?? "";
    const other = await openPage(browser);
    await other.goto(link);
    await other.getByLabel("Passphrase", { exact: true }).fill(secret);
    await other.getByLabel("Repeat the passphrase").fill(secret);
    await other.getByRole("button", { name: "Set passphrase" }).click();
    await other.getByText("Signed in as ada.").waitFor();
    await other.getByRole("link", { name: "console" }).click();
    await other.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    return other;
  };
  const first = await choosePassphrase("the first passphrase of ada");
  await open("people");
  await press("Make administrator ada", "They are an administrator now.");
  await press("End administrator ada", "They are not an administrator any more.");
  await press("Disable ada", "They are locked out.");
  await first.goto(`${server.url}/console`);
  await first.getByRole("button", { name: "Sign in" }).waitFor();
  await press("Enable ada", "They may sign in again.");
  await press("Reset passphrase ada", "Give this link to");
  await (await choosePassphrase("the second passphrase of ada")).context().close();
  await first.context().close();
}

async function findOutWhy({ open, page, server }: Visit): Promise<void> {
  await (await fetch(`${server.url}/mcp`, { method: "POST", headers: { "user-agent": "Lost/1.0" } })).body?.cancel();
  await until("the attempt is seen", async () => {
    await open("why");
    return await page.getByRole("heading", { name: /Lost/ }).count() > 0;
  });
  await open("settings");
  await page.getByRole("row", { name: /^PORT/ }).waitFor();
}

async function endConnection({ open, page, press, call }: Visit): Promise<void> {
  await open("connections");
  await press(/^Remove access of /, "Access removed.");
  await assert.rejects(call("file_read", { filename: "notes.txt" }));
  await press(/^Sign out/, /./);
  await page.goto(page.url());
  await open("");
  await page.getByRole("button", { name: "Sign in" }).waitFor();
}
