/** The console's Files in Chromium: without script by mouse, with script by keyboard, in each look, with hostile files. */
import assert from "node:assert/strict";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { callTool, createToken } from "../console/desk.ts";
import { ownerPassphrase, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { chromiumTest } from "./chromium.ts";
import { type Hands, keyboardOf, mouse } from "./console_hands.ts";
import { accessibilityProblems, assertFits } from "./page_checks.ts";
import { openPage, picture } from "./steps.ts";

const script = `<script>document.title="taken"</script>`;
const hostileName = `"><img src=x onerror=alert(1)>\u202egnp.html`;

interface Desk {
  readonly browser: Browser;
  readonly server: RunningServer;
  readonly root: string;
  call(tool: string, input: Record<string, unknown>): Promise<unknown>;
}

function filesTest(name: string, run: (desk: Desk) => Promise<void>): void {
  chromiumTest(name, async (browser) => {
    await using place = await makeServerPlace();
    await using server = await startServer(place);
    await setUpOwner(createPerson(server.url), server);
    const token = await createToken(place, "owner");
    const call = async (tool: string, input: Record<string, unknown>): Promise<void> => {
      const { isError, text } = await callTool(server, token, tool, input);
      assert.ok(!isError, text);
    };
    await run({ browser, server, root: place.workspaceDir, call });
  });
}

async function openFiles({ browser, server }: Desk, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await openPage(browser, options);
  await page.goto(`${server.url}/console/files`);
  await page.getByLabel("Passphrase").fill(ownerPassphrase);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Files" }).waitFor();
  return page;
}

async function visit({ root }: Desk, page: Page, hands: Hands): Promise<void> {
  const link = (name: string) => hands.press(page.getByRole("link", { name, exact: true }).first());
  await link("notes/");
  await link("plan.md");
  await page.getByText("three lines now").waitFor();
  await hands.write(page.getByLabel("Search"), "THREE LINES");
  await hands.press(page.getByRole("button", { name: "Search" }));
  await link("notes/plan.md");
  await page.getByText("three lines now").waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), link("Download")]);
  assert.equal(download.suggestedFilename(), "plan.md");
  assert.equal(await Deno.readTextFile(await download.path()), "three lines now\n");
  await link("History");
  await page.getByText("edited").waitFor();
  await link("Version before");
  await page.getByText("+one line").waitFor();
  await hands.press(page.getByRole("button", { name: "Restore this version" }));
  await page.getByText("Restored notes/plan.md.").waitFor();
  assert.equal(await Deno.readTextFile(`${root}/notes/plan.md`), "one line\n");
  await hands.press(page.getByRole("button", { name: "Undo" }).first());
  await page.getByText("Undid console of notes/plan.md.").waitFor();
  assert.equal(await Deno.readTextFile(`${root}/notes/plan.md`), "three lines now\n");
}

filesTest("Files works without script by mouse, and with script by keyboard", async (desk) => {
  await desk.call("file_write", { filename: "notes/plan.md", content: "one line\n" });
  await desk.call("file_edit", {
    path: "notes/plan.md",
    edits: [{ old_text: "one line", new_text: "three lines now" }],
  });
  const plain = await openFiles(desk, { javaScriptEnabled: false });
  await visit(desk, plain, mouse);
  const page = await openFiles(desk);
  await visit(desk, page, keyboardOf(page));
});

filesTest("nothing of a file runs, and each page fits and is accessible in every look", async (desk) => {
  const { root, server } = desk;
  await Deno.writeTextFile(`${root}/${hostileName}`, `<!doctype html>${script}`);
  await Deno.writeTextFile(
    `${root}/drawn.svg`,
    `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">${script}</svg>`,
  );
  await Deno.copyFile(new URL("../../docs/pictures/console-change-light.png", import.meta.url), `${root}/shot.png`);
  await Deno.writeTextFile(`${root}/long.txt`, `${"word ".repeat(400)}\n`.repeat(200));
  await desk.call("file_edit", {
    path: hostileName.replace("\u202e", "\\u{202E}"),
    edits: [{ old_text: "doctype", new_text: "DOCTYPE" }],
  });
  const looks: Readonly<Record<string, BrowserContextOptions>> = {
    light: { viewport: { width: 1280, height: 800 } },
    dark: { viewport: { width: 375, height: 800 }, colorScheme: "dark" },
    zoomed: { viewport: { width: 320, height: 256 }, deviceScaleFactor: 4 },
  };
  for (const [look, options] of Object.entries(looks)) {
    const page = await openFiles(desk, { bypassCSP: true, ...options });
    const alerts: string[] = [];
    page.on("dialog", async (dialog) => {
      alerts.push(dialog.message());
      await dialog.dismiss();
    });
    for (const path of ["", hostileName, "drawn.svg", "shot.png", "long.txt", "none.txt"]) {
      for (const view of ["", "history"]) {
        await page.goto(`${server.url}/console/files?${new URLSearchParams({ path, view })}`);
        assert.deepEqual(await accessibilityProblems(page), [], `${path} ${view} ${look}`);
        await assertFits(page);
        await picture(page, `files-${look}-${path.replace(/\W/g, "_")}-${view}`);
        assert.doesNotMatch(await page.title(), /taken/);
      }
    }
    assert.deepEqual(alerts, []);
  }
  const page = await openFiles(desk);
  await page.goto(`${server.url}/console/files?path=shot.png`);
  const width = await page.getByRole("img", { name: "shot.png" }).evaluate((image) =>
    (image as unknown as { naturalWidth: number }).naturalWidth
  );
  assert.ok(width > 100, "the page's policy lets the picture be seen");
});
