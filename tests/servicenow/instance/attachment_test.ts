/** The stand-in's Attachment API. */
import assert from "node:assert/strict";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { errorOf, openDesk } from "./desk.ts";

const api = "/api/now/attachment";
const mail = sysId("1c", 1);
const target = { table_name: "incident", table_sys_id: mail, file_name: "a.txt" };
const text = { "content-type": "text/plain" };

Deno.test("Attachment API: files are listed, described, fetched and deleted with their record's rights", async () => {
  await using desk = await openDesk();
  const query = { sysparm_query: `table_name=incident^table_sys_id=${mail}` };
  const [meta] = (await desk.ask("ada", api, { query })).body.result;
  assert.deepEqual([meta.file_name, meta.size_bytes], ["mx-01.log", "22"]);
  const file = await desk.ask("ada", new URL(meta.download_link).pathname);
  assert.equal(file.body, "mx-01: disk 100% full\n");
  assert.equal(JSON.parse(file.headers.get("x-attachment-metadata") ?? "{}").sys_id, meta.sys_id);
  assert.deepEqual((await desk.ask("ben", api, { query })).body.result, []);
  assert.equal((await desk.ask("ben", `${api}/${meta.sys_id}`)).status, 404);
  assert.equal((await desk.ask("ada", `${api}/${meta.sys_id}`, { method: "DELETE" })).status, 204);
  assert.equal((await desk.ask("ada", `${api}/${meta.sys_id}`)).status, 404);
});

Deno.test("Attachment API: a file is uploaded as it is, or as the last part of a form", async () => {
  await using desk = await openDesk();
  const bytes = new Uint8Array([0, 255, 13, 10, 45, 45]);
  const binary = await desk.ask("ada", `${api}/file`, { method: "POST", query: target, body: bytes, headers: text });
  assert.equal(binary.status, 201);
  assert.equal(binary.headers.get("location"), `${desk.instance.origin}${api}/${binary.body.result.sys_id}`);
  const form = new FormData();
  form.set("table_name", "incident");
  form.set("table_sys_id", mail);
  form.set("uploadFile", new Blob([bytes], { type: "image/png" }), "grün.png");
  const encoded = new Request("http://x/", { method: "POST", body: form });
  const parts = await desk.ask("ada", `${api}/upload`, {
    method: "POST",
    body: new Uint8Array(await encoded.arrayBuffer()),
    headers: { "content-type": encoded.headers.get("content-type") ?? "" },
  });
  assert.equal(parts.status, 201, JSON.stringify(parts.body));
  const { file_name: name, content_type: type, size_bytes: size } = parts.body.result;
  assert.deepEqual([name, type, size], ["grün.png", "image/png", "6"]);
});

Deno.test("Attachment API: uploads are refused for what is missing, hidden, too large or of a forbidden kind", async () => {
  await using desk = await openDesk({ habits: { maxAttachmentBytes: 10, attachmentExtensions: ["txt"] } });
  const upload = async (userName: string, query: Record<string, string>, body = "hello") =>
    errorOf(
      await desk.ask(userName, `${api}/file`, { method: "POST", query: { ...target, ...query }, body, headers: text }),
    );
  assert.equal(
    await upload("ada", { file_name: "" }),
    "400 Failed to create the attachment: Missing parameter: file_name",
  );
  assert.equal(await upload("ada", { table_name: "x_gone" }), "400 Invalid table x_gone: null");
  assert.match(await upload("ben", {}), /^404 No Record found/);
  assert.match(await upload("ada", {}, "hello, hello, hello"), /^413 /);
  assert.match(await upload("ada", { file_name: "a.exe" }), /^403 .*: File type is not allowed: exe$/);
  assert.match(await upload("ada", { table_name: "kb_knowledge", table_sys_id: sysId("b7") }), /^403 /);
  const form = await desk.ask("ada", `${api}/upload`, { method: "POST", body: "x", headers: text });
  assert.match(errorOf(form), /^400 /);
});
