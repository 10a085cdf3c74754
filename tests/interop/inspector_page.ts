/** The page of the MCP Inspector in Chromium: it connects, signs in, lists the tools, and shows a change in the view. */
import assert from "node:assert/strict";
import { launchChromium, missingBrowser } from "../browser/chromium.ts";
import { freePort } from "../fixtures/free_port.ts";
import { ownerPassphrase, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { ClientNotInstalled } from "./client_not_installed.ts";
import { inspectorPackage } from "./inspector_command_line.ts";
import { installFromNpm } from "./npm_client.ts";

const stepMs = 30_000;

/** Throws at the first step that fails. */
export async function tryInspectorPage(): Promise<void> {
  if (missingBrowser !== null) throw new ClientNotInstalled(missingBrowser);
  await using client = await installFromNpm([inspectorPackage], {
    CLIENT_PORT: String(freePort()),
    MCP_AUTO_OPEN_ENABLED: "false",
    MCP_INSPECTOR_SECRET_STORE: "file",
  });
  await using place = await makeServerPlace();
  await Deno.mkdir(place.workspaceDir, { recursive: true });
  await Deno.writeTextFile(`${place.workspaceDir}/a.txt`, "one\ntwo\n");
  await using server = await startServer(place, {
    env: { CLIENT_METADATA_DOCUMENTS: "off", COMPATIBILITY: "auto" },
  });
  await setUpOwner(createPerson(server.url), server);
  const inspector = client.spawn(`inspector --web --server-url ${server.url}/mcp --transport http`);
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(stepMs);
    await page.goto(await printedLink(inspector));
    await page.getByRole("switch").first().click({ force: true });
    await page.getByLabel("Passphrase").fill(ownerPassphrase);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.getByText("Tools", { exact: true }).first().click();
    await page.getByText("Read files").first().waitFor();
    await page.getByText("Apps", { exact: true }).first().click(); // tools with a view (MCP Apps)
    await page.getByText("Edit files").first().click();
    for (const [name, value] of [["path", "a.txt"], ["old_text", "two"], ["new_text", "the second"]] as const) {
      await page.getByRole("textbox", { name }).first().fill(value);
    }
    await page.getByRole("button", { name: "Open App" }).click();
    const view = page.frameLocator("iframe").frameLocator("iframe");
    await view.getByText("+the second").waitFor();
    await view.getByRole("button", { name: "Undo" }).click();
    await view.getByText("Undone", { exact: true }).waitFor();
    assert.equal(await Deno.readTextFile(`${place.workspaceDir}/a.txt`), "one\ntwo\n");
  } finally {
    await browser.close();
    inspector.kill("SIGTERM");
    await inspector.status;
  }
}

/** The link with the page's own token. What follows is read too, so that the program never waits for a reader. */
function printedLink({ stdout }: Deno.ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    stdout.pipeThrough(new TextDecoderStream()).pipeTo(
      new WritableStream({
        write(chunk) {
          said += chunk;
          const link = /(http:\S+MCP_INSPECTOR_API_TOKEN=\w+)\s/.exec(said)?.[1];
          if (link !== undefined) resolve(link);
        },
      }),
    ).finally(() => reject(new Error(said)));
  });
}
