/** `doctor` where the server does not start, or cannot be reached: it names what keeps it from that. */
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

Deno.test("doctor says what keeps the server from starting or from being reached", async (test) => {
  for (const { name, env = {}, spoil, says, code: expected } of faults) {
    await test.step(`doctor: ${name}`, async () => {
      await using place = await makeServerPlace();
      {
        await using server = await startServer(place, { env: {} });
        await setUpOwner(createPerson(server.url), server);
      }
      await spoil?.(place);
      const { code, stdout, stderr } = await runCommand(["doctor"], {
        env: { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir, PORT: String(freePort()), ...env },
      });
      assert.match(stdout, says, stderr);
      assert.equal(code, expected, stdout + stderr);
      assert.doesNotMatch(stdout, /secret@/);
    });
  }
});
