/** `doctor` and `connections` where the server does not start, or cannot be reached: it names what keeps it from that. */
import assert from "node:assert/strict";
import { setUpOwner } from "../fixtures/owner.ts";
import { freePort } from "../fixtures/free_port.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, type ServerPlace, startServer } from "../fixtures/running_server.ts";

interface StartFault {
  readonly name: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What breaks it, after a first good start. */
  readonly spoil?: (place: ServerPlace) => Promise<unknown>;
  readonly says: RegExp;
  readonly code: number;
}

const faults: readonly StartFault[] = [
  {
    name: "a setting is not usable",
    env: { PORT: "ninety" },
    says: /^FAIL {2}configuration: .*\n +PORT = "ninety"/m,
    code: 1,
  },
  {
    name: "the master key is gone",
    spoil: ({ dataDir }) => Deno.remove(`${dataDir}/master.key`),
    says: /^FAIL {2}(database|data directory): .*master/m,
    code: 1,
  },
  {
    name: "the database is damaged",
    spoil: ({ dataDir }) => Deno.writeTextFile(`${dataDir}/portcullis.db`, "no database ".repeat(1_000)),
    says: /^FAIL {2}database: .*\n +hint: /m,
    code: 1,
  },
  {
    name: "the database server is away",
    env: { DATABASE_URL: "postgres://user:secret@127.0.0.1:1/none?sslmode=disable" },
    says: /^FAIL {2}database: .*127\.0\.0\.1/m,
    code: 1,
  },
  {
    name: "the certificate's file is missing",
    env: { TLS_CERT_FILE: "/nowhere/cert.pem", TLS_KEY_FILE: "/nowhere/key.pem" },
    says: /^FAIL {2}configuration: [^]*TLS_CERT_FILE/m,
    code: 1,
  },
  {
    name: "SERVER_URL leads nowhere",
    env: { SERVER_URL: "https://mcp.invalid", REGISTRATION: "open" },
    says: /^warn {2}public address: mcp\.invalid cannot be looked up/m,
    code: 0,
  },
];

Deno.test("doctor and connections say what keeps the server from starting or from being reached", async (test) => {
  for (const { name, env = {}, spoil, says, code: expected } of faults) {
    await test.step(`doctor: ${name}`, async () => {
      await using place = await makeServerPlace();
      {
        await using server = await startServer(place, { env: {} });
        await setUpOwner(createPerson(server.url), server);
      }
      await spoil?.(place);
      for (const command of ["doctor", "connections"]) {
        const { code, stdout, stderr } = await runCommand([command], {
          env: { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir, PORT: String(freePort()), ...env },
        });
        assert.match(stdout, says, stderr);
        assert.equal(code, expected, stdout + stderr);
        assert.doesNotMatch(stdout, /secret@/);
      }
    });
  }
});

Deno.test("connections prints the attempts of clients, in words and as JSON, and that another program has the port", async () => {
  await using place = await makeServerPlace();
  {
    await using server = await startServer(place, { env: { COMPATIBILITY: "spec" } });
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize" });
    const headers = { "content-type": "application/json", "user-agent": "claude-code/2" };
    const answer = await fetch(`${server.url}/mcp`, { method: "POST", headers, body });
    assert.equal(answer.status, 401, await answer.text());
  }
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const env = { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir, PORT: String(listener.addr.port) };
  const { code, stdout: words } = await runCommand(["connections"], { env });
  assert.equal(code, 1);
  assert.match(words, /^\S+Z {2}claude-code\/2, from 127\.0\.0\.1\n {2}(going on|stopped: The client was told)/);
  assert.match(words, /^FAIL {2}port: .*another program/m);
  const { stdout } = await runCommand(["connections", "--json"], { env });
  const lines: Record<string, unknown>[] = stdout.trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual([lines[0]?.["kind"], lines[0]?.["name"]], ["attempt", "claude-code/2"]);
  assert.equal(lines.find(({ name }) => name === "port")?.["state"], "broken");
});
