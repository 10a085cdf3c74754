/** A token for some of the workspace's directories. */
import assert from "node:assert/strict";
import { call, createToken } from "../sandbox/call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { approve, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { postMcp } from "../fixtures/mcp_call.ts";

Deno.test("a token for one directory neither reaches nor sees the others", async () => {
  await using place = await makeServerPlace();
  const base = `${place.workspaceDir}-several`;
  for (const name of ["notes", "code"]) {
    await Deno.mkdir(`${base}/${name}`, { recursive: true });
    await Deno.writeTextFile(`${base}/${name}/f.txt`, `word of ${name}`);
  }
  const env = {
    DATA_DIR: place.dataDir,
    WORKSPACE_DIR: `notes=${base}/notes,code=${base}/code`,
    OLLAMA_HOST: "127.0.0.1:1",
  };
  const scope = "files:read files:write";
  const make = (...args: string[]) => runCommand(["token", "create", "--scope", scope, ...args], { env });
  const refused = await make("--directories", "notes,absent");
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /absent[^]*it has: notes, code/);
  const made = await make("--directories", "notes");
  assert.equal(made.code, 0, made.stderr);
  assert.match((await runCommand(["token", "list"], { env })).stdout, /only notes/);
  const [limited, whole] = [made.stdout.trim(), await createToken(place.dataDir, scope)];
  await using server = await startServer(place, { env });
  const ask = (name: string, input: Record<string, unknown>, token = limited): Promise<string> =>
    call(server, token, name, input);
  try {
    assert.match(await ask("file_read", { filename: "notes/f.txt" }), /word of notes/);
    assert.match(await ask("file_read", { filename: "code/f.txt" }, whole), /word of code/);
    const attempts: [name: string, input: Record<string, unknown>][] = [
      ["file_read", { filename: "code/f.txt" }],
      ["file_read", { filename: `${base}/code/f.txt` }],
      ["file_write", { filename: "code/new.txt", content: "x" }],
      ["file_move", { path: "notes/f.txt", destination: "code/g.txt" }],
      ["file_move", { path: "code/f.txt", destination: "notes/g.txt", copy: true }],
      ["file_delete", { path: "code/f.txt" }],
      ["file_list", { path: "code" }],
      ["file_list", { recursive: true }],
      ["file_search", { query: "word" }],
    ];
    for (const [name, input] of attempts) {
      const text = await ask(name, input);
      assert.ok(!text.includes("word of code"), `${name}: ${text}`);
      if (!JSON.stringify(input).includes("code")) assert.ok(!text.includes("code"), `${name}: ${text}`);
    }
    await ask("file_write", { filename: "code/changed.txt", content: "x" }, whole);
    assert.doesNotMatch(await ask("file_undo", {}), /changed/);
    const listed = await postMcp(server.url, { jsonrpc: "2.0", id: 1, method: "resources/list", params: {} }, {
      token: limited,
    });
    const uris = (await listed.json()).result.resources.map(({ uri }: { uri: string }) => uri);
    assert.ok(uris.includes("workspace:///notes/f.txt"), JSON.stringify(uris));
    assert.ok(!uris.some((uri: string) => uri.includes("code")));
    assert.equal(await Deno.readTextFile(`${base}/code/f.txt`), "word of code");
    const names = Array.from(Deno.readDirSync(`${base}/code`), ({ name }) => name).filter((name) => !/^\./.test(name));
    assert.deepEqual(names.sort(), ["changed.txt", "f.txt"]);
  } finally {
    await Deno.remove(base, { recursive: true });
  }
});

Deno.test("a person allows a client some of the folders: its tokens, refreshed and narrowed too, reach no others", async () => {
  await using place = await makeServerPlace();
  const base = `${place.workspaceDir}-several`;
  for (const name of ["notes", "code"]) {
    await Deno.mkdir(`${base}/${name}`, { recursive: true });
    await Deno.writeTextFile(`${base}/${name}/f.txt`, `word of ${name}`);
  }
  const env = { WORKSPACE_DIR: `notes=${base}/notes,code=${base}/code`, OLLAMA_HOST: "127.0.0.1:1" };
  await using server = await startServer(place, { env });
  const owner = createPerson(server.url);
  await setUpOwner(owner, server);
  const redirectUri = "http://127.0.0.1:8976/callback";
  const metadata = await (await fetch(`${server.url}/.well-known/oauth-authorization-server`)).json();
  const post = async (url: string, form: Record<string, string>) =>
    await (await fetch(url, { method: "POST", body: new URLSearchParams(form) })).json();
  const registered = await (await fetch(metadata.registration_endpoint, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: "Test",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: "none",
    }),
  })).json();
  const client = { client_id: registered.client_id };
  const verifier = "v".repeat(64);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  const challenge = new Uint8Array(digest).toBase64({ alphabet: "base64url", omitPadding: true });
  const connect = async (changes: Record<string, string | readonly string[]>) => {
    const url = new URL(metadata.authorization_endpoint);
    const query = { response_type: "code", redirect_uri: redirectUri, code_challenge: challenge, ...client };
    url.search = `${new URLSearchParams({ ...query, code_challenge_method: "S256", scope: "files:read files:write" })}`;
    const back = await approve(owner, url, changes);
    const code = back.searchParams.get("code") ?? "";
    const grant = { grant_type: "authorization_code", code, code_verifier: verifier, redirect_uri: redirectUri };
    return await post(metadata.token_endpoint, { ...grant, ...client });
  };
  const read = (token: string, filename: string): Promise<string> => call(server, token, "file_read", { filename });
  try {
    const limited = await connect({ directory: ["notes", "forged"] });
    assert.match(await read(limited.access_token, "notes/f.txt"), /word of notes/);
    assert.match(await read(limited.access_token, "code/f.txt"), /no such file/);
    const refreshing = { grant_type: "refresh_token", refresh_token: limited.refresh_token, scope: "files:read" };
    const refreshed = await post(metadata.token_endpoint, { ...refreshing, ...client });
    assert.match(await read(refreshed.access_token, "notes/f.txt"), /word of notes/);
    assert.match(await read(refreshed.access_token, "code/f.txt"), /no such file/);
    const whole = await connect({});
    assert.match(await read(whole.access_token, "code/f.txt"), /word of code/);
    await assert.rejects(connect({ directory: [] }), /Tick at least one folder/);
  } finally {
    await Deno.remove(base, { recursive: true });
  }
});

Deno.test("a token for some directories reaches nothing where the workspace has none by now", async () => {
  await using place = await makeServerPlace();
  await Deno.mkdir(place.workspaceDir, { recursive: true });
  await Deno.writeTextFile(`${place.workspaceDir}/f.txt`, "word");
  const named = { DATA_DIR: place.dataDir, WORKSPACE_DIR: `notes=${place.workspaceDir}` };
  const made = await runCommand(["token", "create", "--scope", "files:read", "--directories", "notes"], { env: named });
  await using server = await startServer(place, { env: { OLLAMA_HOST: "127.0.0.1:1" } });
  const text = await call(server, made.stdout.trim(), "file_read", { filename: "f.txt" });
  assert.match(text, /no such file/);
});
