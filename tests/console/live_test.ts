/** The Live page over a whole server: what runs is seen, cancelled, paused and stopped. */
import assert from "node:assert/strict";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson, type Page, type Person } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, type ServerPlace, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

const passphrase = "a long passphrase of ada";

async function createToken({ dataDir }: ServerPlace, user = "owner"): Promise<string> {
  const scope = "files:read llm:generate";
  const made = await runCommand(["token", "create", "--scope", scope, "--user", user, "--data-dir", dataDir]);
  assert.equal(made.code, 0, made.stderr);
  return made.stdout.trim();
}

const livePage = (person: Person, url: string): Promise<Page> => openSignedIn(person, `${url}/console/activity`);

/** Waits until the page has what is looked for. */
async function seen(person: Person, url: string, pattern: RegExp): Promise<Page> {
  return await until(`the page shows ${pattern}`, async () => {
    const page = await livePage(person, url);
    return pattern.test(page.html) ? page : null;
  });
}

async function call(url: string, token: string, tool: string, input: Record<string, unknown>): Promise<string> {
  return JSON.stringify(await (await postMcp(url, toolCall(tool, input), { token })).json());
}

Deno.test("a call that runs is seen, and cancelled from the page, by its person or an administrator", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  const letGo = ollama.hold();
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { OLLAMA_HOST: ollama.url, LLM_MODELS: "tinyllama" } });
  const owner = createPerson(server.url);
  await setUpOwner(owner, server);
  const added = await runCommand(["users", "add", "ada", "--data-dir", place.dataDir], { stdin: `${passphrase}\n` });
  assert.equal(added.code, 0, added.stderr);
  const ada = createPerson(server.url);
  const signInPage = await ada.open(`${server.url}/console/activity`);
  await ada.submit(signInPage, { username: "ada", passphrase });

  const prompt = "<b>a secret plan</b>\u202e\u200b";
  const running = call(server.url, await createToken(place), "llm_generate", { prompt });
  const page = await seen(owner, server.url, /&quot;prompt&quot;:&quot;&lt;b&gt;a secret plan/);
  assert.ok(page.html.includes("\\u{202E}\\u{200B}") && !/[\u202e\u200b]/.test(page.html), "nothing hides in it");
  assert.doesNotMatch((await ada.open(`${server.url}/console/activity`)).html, /secret plan/);
  const id = /name="call" value="([^"]+)"/.exec(page.html)?.[1] ?? "";
  const own = await ada.open(`${server.url}/console/activity`);
  const csrf = /name="csrf" value="([^"]+)"/.exec(own.html)?.[1] ?? "";
  const form =
    `<form method="post" action="/console/activity"><input type="hidden" name="csrf" value="${csrf}"></form>`;
  for (const fields of [{ act: "cancel", call: id }, { act: "stop" }, { act: "pause", client: "portcullis-cli" }]) {
    const forged = await ada.submit({ ...own, html: form }, fields);
    assert.ok(forged.status === 422 || forged.status === 403, `${fields.act}: ${forged.status}`);
  }
  await owner.submit(page, {}, 'value="cancel"');
  assert.match(await running, /An administrator of this server stopped this call/);
  await seen(owner, server.url, /<h2>Running now<\/h2><div id="running"><p class="quiet">Nothing is running/);
  letGo();
});

Deno.test("a paused client and a stopped server refuse calls at once, over a restart, until they are let go", async () => {
  await using place = await makeServerPlace();
  const token = await createToken(place);
  const cookies = new Map<string, string>();
  let port = "0";
  const start = async () => {
    const server = await startServer(place, { env: { PORT: port } });
    port = new URL(server.url).port;
    return { server, owner: createPerson(server.url, fetch, cookies) };
  };
  {
    const { server, owner } = await start();
    await setUpOwner(owner, server);
    assert.match(await call(server.url, token, "file_list", {}), /"isError":false/);
    const stopped = await owner.submit(await livePage(owner, server.url), {}, 'value="stop"');
    assert.match(stopped.html, /All calls are stopped/);
    assert.match(await call(server.url, token, "file_list", {}), /stopped all calls/);
    // the outcome, without its reason in the same word
    const live = (await seen(owner, server.url, />stopped<\/span>\s*<\/td>/)).html;
    assert.ok(live.includes("Stopped by owner") && !live.includes("Activity lets them run again"), live);
    assert.match((await openSignedIn(owner, `${server.url}/console/people`)).html, /All calls are stopped/);
    await server.stop();
  }
  const { server, owner } = await start();
  assert.match(await call(server.url, token, "file_list", {}), /stopped all calls/);
  await owner.submit(await livePage(owner, server.url), {}, 'value="start"');
  assert.match(await call(server.url, token, "file_list", {}), /"isError":false/);
  await server.stop();
});
