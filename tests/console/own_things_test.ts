/** People who are not administrators: each page, its stream and its download have their own things, and acts reach no others. */
import assert from "node:assert/strict";
import { ownerPassphrase } from "../fixtures/owner.ts";
import { createPerson, type Page, type Person } from "../fixtures/person.ts";
import { until } from "../fixtures/until.ts";
import { callTool, createToken, type Desk, fileIn, startDesk } from "./desk.ts";

const secretOfAda = `${ownerPassphrase} of ada`;
const forAll = ["", "activity", "connections", "why", "decisions", "change"];
const forAdministrators = ["rules", "people", "settings"];

async function inviteAda(desk: Desk, cookies: Map<string, string>): Promise<Person> {
  const invited = await desk.owner.submit(await desk.page("people"), { user: "ada" }, 'value="invite"');
  const link = /<pre>([^<]*)<\/pre>/.exec(invited.html)?.[1] ?? "";
  const ada = createPerson(desk.server.url, fetch, cookies);
  await ada.submit(await ada.open(link), { passphrase: secretOfAda, confirmation: secretOfAda });
  const page = await ada.open(`${desk.server.url}/console`);
  assert.match(page.html, /Signed in as ada/);
  return ada;
}

Deno.test("pages, streams and downloads of a person have their own things, whatever the address asks for", async () => {
  await using desk = await startDesk();
  const { server, place } = desk;
  const cookies = new Map<string, string>();
  const ada = await inviteAda(desk, cookies);
  const adaToken = await createToken(place, "ada");
  const adaCalls = (tool: string, input: Record<string, unknown>) => callTool(server, adaToken, tool, input);

  // the owner's things have the mark "owned" in their names, ada's have "adas"
  await desk.call("file_write", { filename: "owned.txt", content: "one\n" });
  await desk.call("file_edit", { path: "owned.txt", edits: [{ old_text: "one", new_text: "owned words" }] });
  await desk.call("file_read", { filename: "owned-missing.txt" });
  await adaCalls("file_write", { filename: "adas.txt", content: "one\n" });
  await adaCalls("file_read", { filename: "adas-missing.txt" });
  await desk.rule({ tool: "file_delete", verdict: "ask" });
  const owned = desk.call("file_delete", { path: "owned.txt" });
  const own = adaCalls("file_delete", { path: "adas.txt" });
  const all = await until("both calls wait and all is stored", async () => {
    const page = await desk.page("decisions");
    const audit = await desk.page("activity");
    const isAudited = ["owned", "adas"].every((whose) => audit.html.includes(`${whose}-missing.txt`));
    return page.html.split('<article class="held"').length === 3 && isAudited ? { page, audit } : null;
  });
  const held = all.page.html.split('<article class="held"').find((article) => article.includes("owned.txt")) ?? "";
  const heldId = /name="call" value="([0-9a-f]{64})"/.exec(held)?.[1] ?? assert.fail(all.page.html);
  const effect = new RegExp(`${heldId}"><input[^>]*name="effect" value="([0-9a-f]+)"`).exec(all.page.html)?.[1] ?? "";
  const change = /change\?id=([^&"]+)&amp;person=owner"/.exec(all.audit.html)?.[1] ?? assert.fail(all.audit.html);
  const running = /name="call" value="([^"]+)"/.exec((await desk.page("activity")).html)?.[1] ?? "";
  const tokens = (await desk.page("connections?person=owner")).html;
  const tokenId = /name="token" value="([0-9a-f]{32})"/.exec(tokens)?.[1] ?? assert.fail(tokens);

  const queries = [
    "",
    "?person=owner",
    `?call=${heldId}`,
    `?id=${change}&person=owner`,
    "?person=owner&outcome=ok&download=audit",
    "?person=ada&person=owner&download=1",
    "?target=owned",
    "?after=0&tokens=9",
  ];
  let seen = "";
  for (const section of forAll) {
    for (const query of queries) {
      const { html } = await ada.open(`${server.url}/console/${section}${query}`.replace(/\/(?=$|\?)/, ""));
      // a search repeats its own words
      assert.ok(!html.replace(/value="owned"|target=owned/g, "").includes("owned"), `${section}${query}\n${html}`);
      seen += html;
      const streamed = await firstEvent(server.url, cookies, `section=${section}&${query.slice(1)}`);
      assert.ok(!streamed.includes("owned") && !streamed.includes("portcullis-owner"), `${section}${query}`);
    }
  }
  assert.ok(seen.includes("adas.txt") && seen.includes("adas-missing.txt"));
  for (const section of forAdministrators) {
    assert.equal((await ada.open(`${server.url}/console/${section}`)).status, 403, section);
    assert.equal(await firstEvent(server.url, cookies, `section=${section}`), "404", section);
  }

  const page = await ada.open(`${server.url}/console/connections`);
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.html)?.[1] ?? "";
  const post = (section: string, fields: Record<string, string>): Promise<Page> => {
    const form =
      `<form method="post" action="/console/${section}"><input type="hidden" name="csrf" value="${csrf}"></form>`;
    return ada.submit({ ...page, html: form }, fields);
  };
  for (
    const [section, fields] of [
      ["decisions", { act: "decide", call: heldId, effect, decision: "approve" }],
      ["decisions", { act: "decide", call: heldId, effect, decision: "deny" }],
      ["activity", { act: "cancel", call: running }],
      ["activity", { act: "pause", client: "portcullis-cli" }],
      ["activity", { act: "stop" }],
      ["connections", { act: "end", token: tokenId }],
      ["connections", { act: "end", grant: tokenId }],
      ["change", { act: "undo", id: change, person: "owner" }],
      ["why", { act: "test" }],
      ["rules", { act: "guard" }],
      ["people", { act: "promote", user: "ada" }],
      ["people", { act: "invite", user: "eve" }],
    ] as const
  ) {
    const { status } = await post(section, fields);
    assert.ok(status === 403 || status === 422, `${section} ${JSON.stringify(fields)}: ${status}`);
  }
  assert.equal(await fileIn(desk, "owned.txt"), "owned words\n");
  assert.equal((await desk.call("file_read", { filename: "owned.txt" })).isError, false, "the token is still good");
  await desk.decide("deny");
  await desk.decide("deny");
  assert.ok((await owned).isError && (await own).isError);
});

Deno.test("the former address of the Access page leads to the connections", async () => {
  await using desk = await startDesk();
  for (const path of ["/oauth/grants", "/oauth/grants?revoked=x", "/oauth/grants?after=1"]) {
    const answer = await fetch(`${desk.server.url}${path}`, { redirect: "manual" });
    await answer.body?.cancel();
    assert.deepEqual([answer.status, answer.headers.get("location")], [303, "/console/connections"], path);
  }
});

/** The first event of a page's stream, or the status that it was refused with. */
async function firstEvent(url: string, cookies: ReadonlyMap<string, string>, query: string): Promise<string> {
  const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join("; ");
  const response = await fetch(`${url}/console/events?${query}`, { headers: { cookie } });
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    return String(response.status);
  }
  let text = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes("data:") && text.endsWith("\n\n")) break;
  }
  return text;
}
