/** Records that no version of ours wrote so: what a start and the commands say of them. */
import assert from "node:assert/strict";
import { openDatabase } from "../fixtures/open_database.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

/** Spoils all records of a family in an installation that has a token, a user and keys. */
async function withSpoiled(
  family: string,
  value: string,
  run: (dataDir: readonly string[]) => Promise<void>,
): Promise<void> {
  await using place = await makeServerPlace();
  const data = ["--data-dir", place.dataDir, "--workspace", place.workspaceDir];
  const dataDir = data.slice(0, 2);
  assert.equal((await runCommand(["token", "create", "--scope", "files:read", ...dataDir])).code, 0);
  const server = await startServer(place);
  await server.stop();
  const database = openDatabase(place);
  const { changes } = database.prepare("UPDATE entry SET value = ? WHERE key LIKE ?").run(value, `${family}!%`);
  database.close();
  assert.ok(Number(changes) > 0, family);
  await run(dataDir);
}

const secretText = "s3cret-in-a-record";

for (
  const [family, value, command, message] of [
    ["operator_token", `{"name":7}`, ["token", "list"], /^error: a stored record \(operator_token\) cannot be read/m],
    ["operator_token", `${secretText}`, ["token", "list"], /^error: a stored record cannot be read: it is not JSON/m],
    [
      "set_up_code",
      `{"codeHash":["${secretText}"]}`,
      ["serve", "--port", "0"],
      /^error: a stored record \(set_up_code\)/m,
    ],
  ] as const
) {
  Deno.test(`${command[0]} says what is wrong with ${family} = ${value}, and what to do, in words`, () =>
    withSpoiled(family, value, async (data) => {
      const { code, stderr } = await runCommand([...command, ...data]);
      assert.equal(code, 1);
      assert.match(stderr, message);
      assert.match(stderr, /^hint: .*restore a backup/m);
      assert.doesNotMatch(stderr, /"code":|ZodError| {4}at |s3cret/);
    }));
}
