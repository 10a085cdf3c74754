import assert from "node:assert/strict";
import { form, needing } from "../fixtures/forms/chosen_form.ts";
import { freePort } from "../fixtures/free_port.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { startServicenow } from "../fixtures/servicenow/instance.ts";
import { makeTemporaryFile } from "../fixtures/temporary_file.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

const onDisk = needing("workspace directory");
const inDataDirectory = needing("data directory");

onDisk.test("doctor finds everything well beside a running server with its models", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }, { name: "phi3" }] });
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  await setUpOwner(createPerson(server.url), server);
  const { code, stdout, stderr } = await runCommand(["doctor"], {
    env: {
      DATA_DIR: place.dataDir,
      WORKSPACE_DIR: place.workspaceDir,
      OLLAMA_HOST: ollama.url,
      SERVER_URL: server.url,
      PORT: new URL(server.url).port,
    },
  });
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /^summary: \d+ ok, 0 warn, 0 FAIL$/m);
  for (const name of ["configuration", "data directory", "workspace", "port", "ollama", "metadata"]) {
    assert.match(stdout, new RegExp(`^ok +${name}: `, "m"));
  }
  if (Deno.build.os === "linux") assert.match(stdout, /^ok +disk( of the workspace)?: [\d.]+ of [\d.]+ GB free\.$/m);
  assert.doesNotMatch(stdout, /^(warn|FAIL)/m);
});

inDataDirectory.test("doctor says what is wrong and what to do, a line each, and exits 1", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  await using place = await makeServerPlace();
  const fresh = await runCommand(["doctor", "--data-dir", place.dataDir, "--workspace", place.workspaceDir], {
    env: { OLLAMA_HOST: ollama.url, LLM_MODELS: "tinyllama,phi3", PORT: String(freePort()) },
  });
  assert.equal(fresh.code, 0, "what the first start will make is not broken");
  assert.match(fresh.stdout, /^note +data directory: .* does not exist yet: the first start makes it$/m);
  assert.equal(fresh.stdout.match(/^warn/gm)?.length, 1, "nothing that the first start makes is a warning");
  assert.equal(fresh.stdout.match(/^note +wall: /gm)?.length, 1);
  assert.match(fresh.stdout, /^warn +ollama: phi3 is not installed\n +hint: `ollama pull phi3`$/m);
  assert.match(fresh.stdout, /^note +metadata: not asked: no server runs here/m);

  await Deno.mkdir(place.dataDir, { recursive: true });
  await Deno.chmod(place.dataDir, 0o755);
  const broken = await runCommand(["doctor", "--data-dir", place.dataDir, "--workspace", place.workspaceDir], {
    env: { OLLAMA_HOST: "127.0.0.1:1" },
  });
  assert.equal(broken.code, 1);
  assert.match(broken.stdout, /^FAIL +data directory: .*\n +hint: chmod 700 /m);
  assert.match(broken.stdout, /^warn +ollama: .*OLLAMA_HOST.*\n +hint: the file tools work without it/m);
  assert.match(broken.stdout, /^summary: \d+ ok, \d+ warn, 1 FAIL$/m);

  const unusable = await runCommand(["doctor", "--port", "99999"], { env: { SERVER_URL: "ftp://a" } });
  assert.equal(unusable.code, 1);
  assert.match(unusable.stdout, /^FAIL +configuration: 2 settings are not usable\n/);
});

inDataDirectory.test("doctor crashes at no directory, and hides no later check behind it", async () => {
  await using file = await makeTemporaryFile();
  for (const path of ["/proc/nope", file.path, `${file.path}/below`]) {
    for (const flag of ["--data-dir", "--workspace"]) {
      await using place = await makeServerPlace();
      const other = flag === "--data-dir" ? ["--workspace", place.workspaceDir] : ["--data-dir", place.dataDir];
      const { code, stdout, stderr } = await runCommand(["doctor", flag, path, ...other], {
        env: { OLLAMA_HOST: "127.0.0.1:1" },
      });
      assert.deepEqual([code, stderr], [1, ""], stdout);
      assert.ok(stdout.includes(`FAIL  ${flag === "--data-dir" ? "data directory" : "workspace"}: ${path}`), stdout);
      assert.match(stdout, /^note +metadata: [\s\S]*^summary: \d+ ok, \d+ warn, 1 FAIL$/m);
      assert.doesNotMatch(stdout, /--allow-|os error/);
    }
  }
});

Deno.test("doctor tells one cause once, with the first check that meets it", async () => {
  await using file = await makeTemporaryFile();
  await using other = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => new Response("hello"));
  const elsewhere = { SERVER_URL: "https://no-such-server.invalid", TRUST_PROXY: "1", REGISTRATION: "off" };
  const unknown = {
    SERVICENOW_INSTANCE: "https://no-such-instance.invalid",
    SERVICENOW_CLIENT_ID: "id",
    SERVICENOW_CLIENT_SECRET: "secret",
  };
  const causes: readonly (readonly [cause: string, env: Readonly<Record<string, string>>])[] = [
    ...(form.lacks["data directory"] === undefined
      ? [["data directory", { DATA_DIR: `${file.path}/below` }] as const]
      : []),
    ["port", { PORT: String(other.addr.port) }],
    ["ServiceNow", unknown],
    ["ServiceNow", { ...unknown, SERVICENOW_INSTANCE: `http://127.0.0.1:${freePort()}` }],
    ["public address", elsewhere],
  ];
  await using place = await makeServerPlace();
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }, { name: "phi3" }] });
  const own = { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir, OLLAMA_HOST: ollama.url };
  for (const [cause, env] of causes) {
    await using server = cause === "public address" ? await startServer(place, { env: own }) : null;
    if (server !== null) await setUpOwner(createPerson(server.url), server);
    const PORT = server === null ? String(freePort()) : new URL(server.url).port;
    const { stdout } = await runCommand(["doctor"], { env: { ...own, PORT, ...env } });
    const names = stdout.match(/^(?:warn|FAIL) +[^:]+/gm)?.map((found) => found.replace(/^\S+ +/, ""));
    assert.deepEqual(names, [cause], stdout);
  }
});

Deno.test("doctor tells another program on the port from a Portcullis server", async () => {
  await using place = await makeServerPlace();
  await using other = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => new Response("hello"));
  const doctor = (port: number) =>
    runCommand(["doctor", "--data-dir", place.dataDir, "--workspace", place.workspaceDir, "--port", String(port)]);
  const taken = await doctor(other.addr.port);
  assert.equal(taken.code, 1);
  assert.match(
    taken.stdout,
    /^FAIL +port: cannot listen on 127\.0\.0\.1 port \d+: .*in use.*\n +hint: choose another/m,
  );
  const free = await doctor(freePort());
  assert.match(free.stdout, /^ok +port: .* is free: no server runs there$/m);
});

Deno.test("doctor asks the ServiceNow instance: well, asleep, a wrong secret, out of reach, half configured", async () => {
  await using instance = await startServicenow({ redirectUri: "http://127.0.0.1:1/servicenow/callback" });
  const env = {
    SERVICENOW_INSTANCE: instance.origin,
    SERVICENOW_CLIENT_ID: instance.client.clientId,
    SERVICENOW_CLIENT_SECRET: instance.client.clientSecret,
  };
  const doctor = async (changes: Readonly<Record<string, string>> = {}): Promise<string> => {
    await using place = await makeServerPlace();
    const places = ["--data-dir", place.dataDir, "--workspace", place.workspaceDir, "--port", String(freePort())];
    const { code, stdout } = await runCommand(["doctor", ...places], { env: { ...env, ...changes } });
    assert.equal(code, 0, stdout);
    return stdout;
  };
  assert.match(await doctor(), /^ok +ServiceNow: .* answers, and does not refuse the client/m);
  const wrong = await doctor({ SERVICENOW_CLIENT_SECRET: "not-the-secret-of-the-instance" });
  assert.match(wrong, /^warn +ServiceNow: .* refuses the client\n +hint: .*SERVICENOW_CLIENT_SECRET/m);
  assert.ok(!wrong.includes("not-the-secret"));
  assert.match(
    await doctor({ SERVICENOW_INSTANCE: `http://127.0.0.1:${freePort()}` }),
    /^warn +ServiceNow: .* cannot be reached/m,
  );
  assert.match(
    await doctor({ SERVICENOW_INSTANCE: "https://no-such-instance.invalid" }),
    /^warn +ServiceNow: .*no-such-instance\.invalid cannot be reached/m,
  );
  await using asleep = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response("<html>Instance hibernating</html>", { headers: { "content-type": "text/html" } }),
  );
  assert.match(
    await doctor({ SERVICENOW_INSTANCE: `http://127.0.0.1:${asleep.addr.port}` }),
    /^warn +ServiceNow: .* answers with a web page: it is hibernating/m,
  );
  assert.match(
    await doctor({ SERVICENOW_CLIENT_ID: "", SERVICENOW_CLIENT_SECRET: "" }),
    /^warn +ServiceNow: SERVICENOW_INSTANCE alone .*SERVICENOW_CLIENT_ID and SERVICENOW_CLIENT_SECRET are missing/m,
  );
});

Deno.test("doctor: headers that a proxy loses on the way to /mcp or back are named", async () => {
  await using place = await makeServerPlace();
  const [port, ownPort] = [freePort(), freePort()];
  let [lostOnTheWay, lostOnTheWayBack, isGarbled] = ["", "", false];
  await using _proxy = Deno.serve({ hostname: "127.0.0.1", port, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const headers = new Headers(request.headers);
    headers.delete(lostOnTheWay || "x-nothing");
    const body = request.method === "GET" ? null : await request.bytes();
    const answer = await fetch(`http://127.0.0.1:${ownPort}${pathname}`, { method: request.method, headers, body });
    const answered = new Headers(answer.headers);
    if (isGarbled) return new Response("not gzip", { headers: { "content-encoding": "gzip" } });
    answered.delete("content-encoding"); // the body is unpacked by now
    answered.delete(lostOnTheWayBack || "x-nothing");
    return new Response(await answer.bytes(), { status: answer.status, headers: answered });
  });
  const env = { SERVER_URL: `http://127.0.0.1:${port}`, DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir };
  await using _server = await startServer(place, { env, args: ["--port", String(ownPort)] });
  const told = async (): Promise<string> => (await runCommand(["doctor", "--port", String(ownPort)], { env })).stdout;
  assert.doesNotMatch(await told(), /^(warn|FAIL) +metadata/m);
  lostOnTheWay = "authorization";
  assert.match(
    await told(),
    /^warn +metadata: \S+\/mcp does not get the tokens [^]*?hint: let the proxy pass Authorization/m,
  );
  [lostOnTheWay, lostOnTheWayBack] = ["", "www-authenticate"];
  assert.match(await told(), /^warn +metadata: \S+\/mcp asks for a sign-in without saying where/m);
  isGarbled = true;
  assert.match(await told(), /^warn +metadata: \S+authorization-server cannot be fetched: /m);
});
