/** Being told to stop: by each signal, once and doubled, within bodies, and through `deno task`. */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { toolCall } from "../fixtures/mcp_call.ts";
import {
  makeServerPlace,
  runCommand,
  type RunningServer,
  serverFlags,
  type ServerPlace,
  startServer,
} from "../fixtures/running_server.ts";
import { openDatabase } from "../fixtures/open_database.ts";
import { inTime, until } from "../fixtures/until.ts";
import { freePort } from "../fixtures/free_port.ts";
import { needsPrograms } from "../fixtures/skipped_unless.ts";

const inOneProcess = needing("one process");

const signals: readonly Deno.Signal[] = ["SIGINT", "SIGTERM", "SIGHUP"];
const ignore = Deno.build.os === "windows";

async function makeToken({ dataDir }: ServerPlace): Promise<string> {
  const { stdout } = await runCommand(["token", "create", "--scope", "files:write", "--data-dir", dataDir]);
  return stdout.trim();
}

/** A POST whose body is sent in two parts. */
async function beginPost(
  server: Pick<RunningServer, "url">,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<{ finish(): Promise<void>; answer(): Promise<string> }> {
  const { hostname, port, host } = new URL(server.url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const send = (text: string) => connection.write(new TextEncoder().encode(text));
  const lines = Object.entries({ Host: host, "Content-Length": String(body.length), ...headers });
  await send(`POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}`);
  await send("Expect: 100-continue\r\n\r\n");
  await connection.read(new Uint8Array(4_096)); // 100 Continue: the body is being read
  await send(body.slice(0, 10));
  return {
    finish: async () => void await send(body.slice(10)),
    async answer() {
      const buffer = new Uint8Array(65_536);
      const count = await inTime("the answer", connection.read(buffer));
      connection.close();
      return new TextDecoder().decode(buffer.subarray(0, count ?? 0));
    },
  };
}

function beginWrite(server: Pick<RunningServer, "url">, token: string, filename: string) {
  return beginPost(
    server,
    "/mcp",
    { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
    JSON.stringify(toolCall("file_write", { filename, content: "whole" })),
  );
}

for (const signal of signals) {
  inOneProcess.test({
    name: `${signal}, twice at once, lets arriving bodies arrive and their calls be answered`,
    ignore,
    fn: async () => {
      await using place = await makeServerPlace();
      const token = await makeToken(place);
      await using server = await startServer(place);
      const write = await beginWrite(server, token, "late.txt");
      const form = await beginPost(
        server,
        "/oauth/token",
        { "Content-Type": "application/x-www-form-urlencoded" },
        "grant_type=unheard_of&client_id=x",
      );
      Deno.kill(server.pid, signal);
      Deno.kill(server.pid, signal);
      await until("the stop", () => server.stderr().includes('"event":"stopping"'));
      await write.finish();
      await form.finish();
      assert.match(await write.answer(), /^HTTP\/1\.1 200 [^]*"isError":false/);
      assert.match(await form.answer(), /^HTTP\/1\.1 400 [^]*unsupported_grant_type|invalid_client/);
      assert.equal((await inTime("the end", server.ended)).code, 0);
      await server.stop();
      assert.match(server.stderr(), /"tool":"file_write","outcome":"ok"/);
      assert.equal(await Deno.readTextFile(`${place.workspaceDir}/late.txt`), "whole");
    },
  });
}

inOneProcess.test({
  name: "a body that does not arrive within SHUTDOWN_TIMEOUT is given up by the server: 503, not the caller's error",
  ignore,
  fn: async () => {
    await using place = await makeServerPlace();
    const token = await makeToken(place);
    await using server = await startServer(place, { env: { SHUTDOWN_TIMEOUT: "1" } });
    const write = await beginWrite(server, token, "never.txt");
    Deno.kill(server.pid, "SIGTERM");
    const answer = await write.answer();
    assert.ok(answer === "" || /^HTTP\/1\.1 503 [^]*retry-after: 1\r\n/.test(answer), answer);
    assert.equal((await inTime("the end", server.ended)).code, 0);
  },
});

inOneProcess.test({
  name: "while bodies arrive at a server that stops, new ones are told to come back",
  ignore,
  fn: async () => {
    await using place = await makeServerPlace();
    const token = await makeToken(place);
    await using server = await startServer(place);
    const write = await beginWrite(server, token, "late.txt");
    Deno.kill(server.pid, "SIGTERM");
    await until("the stop", () => server.stderr().includes('"event":"stopping"'));
    const refused = await fetch(`${server.url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify(toolCall("file_write", { filename: "x", content: "x" })),
    });
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get("retry-after"), "1");
    const ready = await fetch(`${server.url}/health/ready`);
    assert.deepEqual([ready.status, await ready.json()], [503, { status: "draining" }]);
    await refused.body?.cancel();
    await write.finish();
    assert.match(await write.answer(), /^HTTP\/1\.1 200 /);
    assert.equal((await inTime("the end", server.ended)).code, 0);
  },
});

for (const signal of signals) {
  inOneProcess.test({
    ...needsPrograms(
      ["perl"],
      `${signal} to the process group of \`deno task start\` lets a call finish, and loses no line of the log`,
    ),
    fn: async () => {
      await using place = await makeServerPlace();
      const token = await makeToken(place);
      const port = String(freePort());
      const child = new Deno.Command("perl", {
        args: ["-e", "setpgrp(0, 0); exec @ARGV", Deno.execPath(), "task", "start", "--port", port],
        env: { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir, NO_COLOR: "1" },
        stdin: "null",
        stdout: "null",
        stderr: "piped",
      }).spawn();
      const output = child.output();
      const signalGroup = (name: string) =>
        new Deno.Command("perl", { args: ["-e", "kill(@ARGV)", name, `-${child.pid}`] }).output();
      try {
        const server = { url: `http://127.0.0.1:${port}` };
        await until("an answer", () => fetch(`${server.url}/health/live`).then((it) => it.text(), () => null));
        const write = await beginWrite(server, token, "late.txt");
        await signalGroup(signal.slice(3));
        await until("the stop", async () => {
          const answer = await fetch(`${server.url}/mcp`, {
            method: "POST",
            headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
            body: "{}",
          });
          await answer.body?.cancel();
          return answer.status === 503;
        });
        await write.finish();
        assert.match(await write.answer(), /^HTTP\/1\.1 200 /);
        await inTime("the end", output);
      } finally {
        await signalGroup("KILL");
      }
      const { code, stderr } = await output;
      assert.equal(code, 0);
      const text = new TextDecoder().decode(stderr);
      assert.match(text, /"event":"stopping"/);
      assert.match(text, /"tool":"file_write","outcome":"ok"/);
    },
  });
}

for (const signal of signals) {
  Deno.test({
    name: `stdio: ${signal}, twice at once, ends in order with status 0`,
    ignore,
    fn: async () => {
      await using place = await makeServerPlace();
      const child = new Deno.Command(Deno.execPath(), {
        args: ["run", ...serverFlags, fileURLToPath(new URL("../../main.ts", import.meta.url)), "stdio"],
        env: { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir, NO_COLOR: "1", LOG_LEVEL: "info" },
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const stderr = new Response(child.stderr).text();
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode('{"jsonrpc":"2.0","id":1,"method":"ping"}\n'));
      const reader = child.stdout.getReader();
      await inTime("the answer", reader.read());
      child.kill(signal);
      child.kill(signal);
      assert.equal((await inTime("the end", child.status)).code, 0);
      await reader.cancel();
      await writer.abort().catch(() => {});
      assert.match(await stderr, /"event":"stdio_ended","by":"signal"/);
    },
  });
}

for (const signal of signals) {
  needing("sources").test({
    name: `backup: ${signal} in the middle leaves a whole one or none, and no half of one beside it`,
    ignore,
    fn: async () => {
      await using place = await makeServerPlace();
      await makeToken(place);
      {
        using database = openDatabase(place);
        const insert = database.prepare("INSERT INTO entry (key, value, version) VALUES (?, ?, 'v')");
        database.exec("BEGIN");
        for (let row = 0; row < 200; row++) insert.run(`filler!${row}`, JSON.stringify("x".repeat(500_000)));
        database.exec("COMMIT");
      }
      const parent = dirname(place.dataDir);
      const child = new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          ...serverFlags,
          fileURLToPath(new URL("../../main.ts", import.meta.url)),
          "backup",
          `${parent}/copy`,
        ],
        env: { DATA_DIR: place.dataDir, NO_COLOR: "1" },
        stdout: "null",
        stderr: "piped",
      }).spawn();
      const output = child.output();
      const left = () => Array.from(Deno.readDirSync(parent), ({ name }) => name).filter((name) => /^copy/.test(name));
      await until("it has begun", () => left().length > 0, 1);
      child.kill(signal);
      const { code, stderr } = await inTime("the end", output);
      const said = new TextDecoder().decode(stderr);
      assert.deepEqual([code, left()], code === 0 ? [0, ["copy"]] : [1, []], said);
      assert.match(said, code === 0 ? /are in .*copy/ : /^error: the backup was stopped: nothing is left of it$/m);
    },
  });
}
