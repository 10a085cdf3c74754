/** use-mcp in Chromium: a page on loopback that uses the library, and signs in by a pop-up. */
import process from "node:process";
import type { Page } from "playwright-core";
import { pause } from "../../src/lib/time.ts";
import { launchChromium, missingBrowser } from "../browser/chromium.ts";
import { freePort } from "../fixtures/free_port.ts";
import { ownerPassphrase } from "../fixtures/owner.ts";
import { ClientNotInstalled } from "./client_not_installed.ts";
import { installFromNpm } from "./npm_client.ts";
import type { MakeClient, Traits } from "./story.ts";
import { toToolAnswer } from "./tool_answer.ts";

const packages = ["use-mcp@0.0.21", "@modelcontextprotocol/sdk@1.32.2", "react@19.3.1", "react-dom@19.3.1"];
const bundler = "esbuild@0.28.2";
const stepMs = 30_000;
const slowPersonMs = 2_000;
const shownMessages = 20;
const port = freePort();
const origin = `http://localhost:${port}`;

/** A page reports no progress and cancels nothing. The owner has to allow its origin. */
export const useMcpTraits: Traits = { progress: false, cancels: false, settings: { ALLOWED_ORIGINS: origin } };

const script = `
import { createElement } from "react";
import { createRoot } from "react-dom/client";
import { onMcpAuthorization } from "use-mcp";
import { useMcp } from "use-mcp/react";

const url = new URL(location.href).searchParams.get("server");
function Application() {
  window.mcp = useMcp({ url, clientName: "use-mcp", transportType: "http" });
  return createElement("p", null, window.mcp.state, " ", window.mcp.error);
}
if (location.pathname === "/oauth/callback") onMcpAuthorization();
else createRoot(document.body).render(createElement(Application));
`;

/** Bundles the page, serves it and starts Chromium. */
export async function useMcp(stack: AsyncDisposableStack): Promise<MakeClient> {
  if (missingBrowser !== null) throw new ClientNotInstalled(missingBrowser);
  const client = stack.use(await installFromNpm([...packages, bundler]));
  const prefix = `${client.home}/prefix`;
  await Deno.writeTextFile(`${prefix}/page.js`, script);
  const said = await client.shell(`esbuild prefix/page.js --bundle --format=esm --outfile=prefix/bundle.js`);
  const bundle = await Deno.readTextFile(`${prefix}/bundle.js`).catch(() => {
    throw new Error(said);
  });
  const site = Deno.serve({ hostname: "127.0.0.1", port, onListen() {} }, (request) => {
    const isScript = new URL(request.url).pathname === "/bundle.js";
    const body = isScript ? bundle : '<!DOCTYPE html><body></body><script type="module" src="/bundle.js"></script>';
    return new Response(body, { headers: { "content-type": isScript ? "text/javascript" : "text/html" } });
  });
  stack.defer(() => site.shutdown());
  const browser = await launchChromium();
  stack.defer(() => browser.close());
  const page = await browser.newPage();
  page.setDefaultTimeout(stepMs);
  const seen: string[] = [];
  page.on("console", (message) => void seen.push(message.text()));
  return ({ endpoint }) => ({
    async connect() {
      await page.goto(`${origin}/bundle.js`);
      await page.evaluate("localStorage.clear()");
      try {
        const opened = page.waitForEvent("popup");
        // Its second attempt replaces the code verifier of its first: people are slower than that.
        const waits = page.waitForEvent("console", (message) => message.text().includes("Waiting for callback"));
        await page.goto(`${origin}/?server=${encodeURIComponent(endpoint.href)}`);
        const [popup] = await Promise.all([opened, waits]);
        await pause(slowPersonMs); // that attempt may still be loading its page into the same pop-up
        await allow(popup);
        await page.waitForFunction('window.mcp?.state === "ready"');
      } catch (error) {
        process.stderr.write(`${seen.slice(-shownMessages).join("\n")}\n`);
        throw error;
      }
    },
    tools: () => page.evaluate("window.mcp.tools.map(({ name }) => name)"),
    async call(name, input) {
      if (await page.evaluate('window.mcp.state === "failed"')) {
        await page.reload();
        await page.waitForFunction('window.mcp?.state === "ready"');
      }
      return toToolAnswer(
        await page.evaluate(`window.mcp.callTool(${JSON.stringify(name)}, ${JSON.stringify(input)})`),
      );
    },
    close: async () => void await page.goto("about:blank"),
  });
}

async function allow(popup: Page): Promise<void> {
  popup.setDefaultTimeout(stepMs);
  await popup.getByLabel("Passphrase").fill(ownerPassphrase);
  await popup.getByRole("button", { name: "Sign in" }).click();
  await popup.getByRole("button", { name: "Allow" }).click();
}
