/** The console on Deno Deploy: the pages that docs/deploy.md names, and what they do. */
import assert from "node:assert/strict";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson, decodeEntities, type Page, type Person } from "../fixtures/person.ts";
import { until } from "../fixtures/until.ts";
import { createDeployApp, createDeployDatabase, startDeployInstance } from "./deploy_instance.ts";
import { signIn } from "./sign_in.ts";

interface Desk {
  readonly url: string;
  readonly owner: Person;
  readonly masterKey: string;
  page(section: string): Promise<Page>;
  /** The page as soon as it has what is looked for. */
  pageWith(section: string, pattern: RegExp): Promise<Page>;
  call(tool: string, input: Record<string, unknown>): Promise<string>;
}

const steps: Readonly<Record<string, (desk: Desk) => Promise<void>>> = {
  async "every page of the navigation answers"({ owner, url, page }) {
    const { html } = await page("");
    const nav = /<nav[\s\S]*?<\/nav>/.exec(html)?.[0] ?? assert.fail(html);
    const links = Array.from(nav.matchAll(/href="([^"]+)"/g), ([, link = ""]) => decodeEntities(link));
    assert.ok(links.length >= 6, nav);
    for (const link of links) {
      const opened = await owner.open(new URL(link, url));
      assert.equal(opened.status, 200, `${link}: ${opened.html}`);
      assert.match(opened.html, /<h1/, link);
    }
  },

  async "the overview says how storage and workspace are"({ page }) {
    const { html } = await page("");
    assert.match(html, /Storage: OK/);
    assert.match(html, /Kept in the database/);
    assert.doesNotMatch(html, /Does not work/);
  },

  async "calls are counted, shown live, and kept in the audit, which is exported"({ call, pageWith, owner, url }) {
    assert.match(await call("file_write", { filename: "seen.txt", content: "one\n" }), /"isError":false/);
    await pageWith("activity", /seen\.txt/);
    await pageWith("activity", /seen\.txt/);
    await pageWith("", /Calls by hour/);
    const exported = await owner.open(`${url}/console/activity?download=audit`);
    const lines = exported.html.trim().split("\n").map((line) => JSON.parse(line));
    assert.ok(lines.some(({ target }) => target?.includes("seen.txt")), exported.html);
  },

  async "an open page is kept up to date by the event stream"({ url, call }) {
    const cookies = new Map<string, string>();
    await openSignedIn(createPerson(url, fetch, cookies), `${url}/console/activity`);
    const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(`${url}/console/events?section=activity`, { headers: { cookie } });
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    await call("file_read", { filename: "streamed.txt" });
    let seen = "";
    for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? assert.fail("no body")) {
      seen += text;
      if (seen.includes("streamed.txt")) break;
    }
    assert.match(seen, /streamed\.txt/);
  },

  async "a rule holds a call, which shows its effect and runs when it is approved"({ owner, page, pageWith, call }) {
    await owner.submit(await page("rules"), {}, 'value="guard"');
    const waiting = call("file_edit", { path: "seen.txt", edits: [{ old_text: "one", new_text: "two" }] });
    const shown = await pageWith("decisions", /<ins>\+two<\/ins>/);
    const decided = await owner.submit(shown, { decision: "approve" }, 'value="decide"');
    assert.match(decided.html, /(?:Approved|Denied): /);
    assert.match(await waiting, /"isError":false/);
    assert.match(await call("file_read", { filename: "seen.txt" }), /two/);
    await owner.submit(await page("rules"), {}, 'value="remove"');
  },

  async "a change is undone from its line in the audit"({ owner, url, pageWith, call }) {
    const { html } = await pageWith("activity?tool=file_edit", /href="\/console\/change\?[^"]+"/);
    const [, link = ""] = /href="(\/console\/change\?[^"]+)"/.exec(html) ?? [];
    const shown = await owner.open(new URL(decodeEntities(link), url));
    const undone = await owner.submit(shown, {}, 'value="undo"');
    assert.match(undone.html, /Undid file_edit of seen\.txt/);
    assert.match(await call("file_read", { filename: "seen.txt" }), /one/);
  },

  async "everything is stopped, and runs again"({ owner, page, call }) {
    await owner.submit(await page("activity"), {}, 'value="stop"');
    assert.match(await call("file_list", {}), /stopped all calls/);
    assert.match((await page("settings")).html, /All calls are stopped/);
    await owner.submit(await page("activity"), {}, 'value="start"');
    assert.match(await call("file_list", {}), /"isError":false/);
  },

  async "a person is invited, chooses a passphrase, and is locked out"({ owner, url, page }) {
    const invited = await owner.submit(await page("people"), { user: "ada" }, 'value="invite"');
    const link = /<pre>([^<]*)<\/pre>/.exec(invited.html)?.[1] ?? assert.fail(invited.html);
    const passphrase = "a long passphrase of ada";
    const ada = createPerson(url);
    await ada.submit(await ada.open(link), { passphrase, confirmation: passphrase });
    assert.match((await ada.open(`${url}/console`)).html, /Overview/, "the link signs in");
    assert.equal((await ada.open(`${url}/console/people`)).status, 403);
    await owner.submit(await page("people"), { user: "ada" }, 'value="disable"');
    assert.match((await ada.open(`${url}/console`)).html, /name="passphrase"/);
  },

  async "secrets are not among the settings"({ page, masterKey }) {
    const { html } = await page("settings");
    assert.match(html.replaceAll("<wbr>", ""), /MASTER_KEY/);
    assert.ok(!html.includes(masterKey), "the master key is on the page");
  },
};

Deno.test("Deno Deploy: the console's pages answer and act, and what they did outlives the instance", async (test) => {
  await using database = await createDeployDatabase();
  const app = createDeployApp({ ...database.env, OAUTH_RATE_LIMIT: "1000000" });
  const masterKey = app.env["MASTER_KEY"] ?? assert.fail("no key");
  const url = app.serverUrl;
  const owner = createPerson(url);
  const page = (section: string) => openSignedIn(owner, `${url}/console${section && `/${section}`}`);
  const pageWith = (section: string, pattern: RegExp): Promise<Page> =>
    until(`${section} shows ${pattern}`, async () => {
      const found = await page(section);
      return pattern.test(found.html) ? found : null;
    });
  {
    await using server = await startDeployInstance(app);
    await setUpOwner(owner, server);
    const { accessToken: token } = await signIn(url, owner, "files:write");
    const call = async (tool: string, input: Record<string, unknown>): Promise<string> =>
      JSON.stringify(await (await postMcp(url, toolCall(tool, input), { token })).json());
    const desk: Desk = { url, owner, masterKey, page, pageWith, call };
    for (const [name, run] of Object.entries(steps)) await test.step(name, () => run(desk));
    await owner.submit(await page("activity"), {}, 'value="stop"');
    assert.equal((await server.stop("SIGINT")).code, 0);
  }
  await using _server = await startDeployInstance(app);
  await test.step("switches, audit and people are there after the instance", async () => {
    assert.match((await page("activity")).html, /Stopped by owner/);
    assert.match((await page("activity")).html, /seen\.txt/);
    assert.match((await page("people")).html, /ada/);
  });
  await test.step("a connection is ended", async () => {
    const ended = await owner.submit(await page("connections"), {}, 'value="end"');
    assert.match(ended.html, /Access removed\./);
    assert.match(ended.html, /No client has access/);
  });
});
