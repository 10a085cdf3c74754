/** The stand-in's Knowledge API, and its CMDB Instance API. */
import assert from "node:assert/strict";
import { sysId, sysIdOf } from "../../fixtures/servicenow/world.ts";
import { errorOf, openDesk } from "./desk.ts";

const articles = "/api/sn_km_api/knowledge/articles";

Deno.test("Knowledge API: words in any order find published articles that the person may read, the best first", async () => {
  await using desk = await openDesk();
  const search = async (userName: string, query: Record<string, string>) =>
    (await desk.ask(userName, articles, { query })).body.result;
  const titles = (result: { articles: { title: string }[] }) => result.articles.map(({ title }) => title);
  const found = await search("ben", { query: "password VPN reset", fields: "kb_knowledge_base,number" });
  assert.deepEqual(titles(found), ["How to reset your VPN password"], "no draft, no retired article, no closed base");
  assert.equal(found.articles[0].fields.kb_knowledge_base.display_value, "IT");
  assert.match(found.articles[0].snippet, /<B>VPN<\/B>/);
  assert.equal(found.articles[0].id, `kb_knowledge:${sysIdOf("kb_knowledge How to reset your VPN password")}`);
  const page = await search("ben", { query: "", limit: "3", offset: "2" });
  assert.deepEqual([page.articles.length, page.meta.start, page.meta.end, page.meta.count], [3, 2, 5, 13]);
  assert.deepEqual(titles(await search("ben", { query: "VPN", language: "de" })), ["VPN-Kennwort zurücksetzen"]);
  assert.deepEqual(titles(await search("ben", { filter: "short_descriptionSTARTSWITHEncrypt" })), [
    "Encrypt a USB stick",
  ]);
  assert.deepEqual(titles(await search("eve", { query: "salary" })), ["Salary bands and VPN allowances"]);
});

Deno.test("Knowledge API: one article by sys_id or number, with its files; hidden ones are absent", async () => {
  await using desk = await openDesk();
  const { body } = await desk.ask("ben", `${articles}/KB0010002`);
  assert.equal(body.result.short_description, "How to reset your VPN password");
  assert.match(body.result.content, /<b>portal<\/b>/);
  const [file] = body.result.attachments;
  assert.equal(
    (await desk.ask("ben", `${articles}/KB0010002/attachments/${file.sys_id}`)).body,
    "1. Open the portal.\n",
  );
  const draft = sysIdOf("kb_knowledge Unfinished: reset a VPN token");
  const secret = sysIdOf("kb_knowledge Salary bands and VPN allowances");
  for (const id of [draft, secret]) {
    assert.equal(
      errorOf(await desk.ask("ben", `${articles}/${id}`)),
      "404 Knowledge article not found or access denied: null",
    );
  }
  const featured = (await desk.ask("ben", `${articles}/featured`)).body.result.articles;
  assert.equal(featured.length, 2);
  const most = (await desk.ask("ben", `${articles}/most_viewed`, { query: { limit: "1" } })).body.result.articles;
  assert.equal(most.length, 1);
});

Deno.test("CMDB Instance API: an item shows what it depends on, and a rota who is on call", async () => {
  await using desk = await openDesk();
  const [server] = await desk.find("ada", "cmdb_ci", "name=db-01", "sys_id,sys_class_name");
  assert.equal(server?.["sys_class_name"], "cmdb_ci_server");
  const { body } = await desk.ask("ada", `/api/now/cmdb/instance/cmdb_ci_server/${server?.["sys_id"]}`);
  const names = (relations: { target: { display_value: string } }[]) =>
    relations.map(({ target }) => target.display_value);
  assert.deepEqual(names(body.result.outbound_relations), ["core switch"]);
  assert.deepEqual(names(body.result.inbound_relations), ["ERP", "web-01", "web-02"]);
  assert.equal((await desk.ask("ben", `/api/now/cmdb/instance/cmdb_ci/${server?.["sys_id"]}`)).status, 403);
  assert.equal((await desk.ask("ada", "/api/now/cmdb/instance/incident")).status, 400);
  const onCall = (userName: string) =>
    desk.ask(userName, "/api/now/on_call_rota/whoisoncall", { query: { group_ids: sysId("99") } });
  assert.deepEqual((await onCall("eve")).body.result.map((each: { userName: string }) => each.userName), [
    "Ada Lovelace",
    "Jonas Keller",
  ]);
  assert.equal((await onCall("ben")).status, 403);
  const relations = await desk.find("ada", "cmdb_rel_ci", `child.name=db-01`, "parent.name,type.name");
  assert.deepEqual(relations.map((each) => each["parent.name"]), ["ERP", "web-01", "web-02"]);
});
