/** The stored audit of the real server, asked by the command line while it runs, after its end and after a kill. */
import assert from "node:assert/strict";
import { openDatabase } from "../fixtures/open_database.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, type ServerPlace, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

type Line = Readonly<Record<string, unknown>>;

const env = { MCP_RATE_LIMIT: "100000" };

async function audit(place: ServerPlace, ...args: string[]) {
  return await runCommand(["audit", ...args, "--data-dir", place.dataDir]);
}

async function lines(place: ServerPlace, ...args: string[]): Promise<Line[]> {
  const { stdout, stderr, code } = await audit(place, "list", "--json", "--limit", "10000", ...args);
  assert.equal(code, 0, stderr);
  return stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

async function makeToken(place: ServerPlace, scope: string): Promise<string> {
  return (await runCommand(["token", "create", "--scope", scope, "--data-dir", place.dataDir])).stdout.trim();
}

Deno.test("audit verify notices that every line, and that every row at all, is gone", async () => {
  for (const where of ["key LIKE 'audit%'", "true"]) {
    await using place = await makeServerPlace();
    const token = await makeToken(place, "files:write");
    {
      await using server = await startServer(place, { env });
      await (await postMcp(server.url, toolCall("file_write", { filename: "a.md", content: "x" }), { token })).text();
      await until("a line is stored", async () => (await lines(place)).length > 0);
    }
    assert.equal((await audit(place, "verify")).code, 0);
    const database = openDatabase(place);
    database.exec(`DELETE FROM entry WHERE ${where}`);
    database.close();
    const { code, stdout } = await audit(place, "verify");
    assert.equal(code, 1, stdout);
    assert.doesNotMatch(stdout, /none was removed/);
  }
});

const secret = "the contents of this file are private";

Deno.test("audit: what was called is found by tool, path, outcome and time while the server runs, and verified", async () => {
  await using place = await makeServerPlace();
  const token = await makeToken(place, "files:write");
  const reader = await makeToken(place, "llm:generate");
  {
    await using server = await startServer(place, { env });
    const call = (name: string, input: Record<string, unknown>, as = token) =>
      postMcp(server.url, toolCall(name, input), { token: as }).then((response) => response.text());
    await call("file_write", { filename: "notes/a.md", content: secret });
    await call("file_read", { filename: "notes/a.md" });
    await call("file_read", { filename: "notes/\u001b[31mabsent|~.md" });
    await call("file_move", { path: "notes/a.md", destination: "notes/b.md" });
    await call("file_write", { filename: "notes/c.md", content: secret }, reader);
    await until("five lines are stored", async () => (await lines(place)).length >= 5);
    assert.deepEqual((await lines(place, "--tool", "file_read")).map(({ outcome }) => outcome), ["tool_error", "ok"]);
    assert.deepEqual((await lines(place, "--path", "b.md")).map(({ target }) => target), ["notes/a.md > notes/b.md"]);
    const [refused = {}, ...others] = await lines(place, "--outcome", "refused");
    assert.deepEqual(others, []);
    assert.equal(refused["outcome"], "insufficient_scope");
    assert.equal(refused["person"], "owner");
    assert.equal(refused["client"], "portcullis-cli");
    assert.deepEqual(await lines(place, "--until", "1h"), []);
    assert.equal((await lines(place, "--since", "1h", "--user", "owner")).length, 5);
    const table = await audit(place, "list");
    // deno-lint-ignore no-control-regex
    assert.doesNotMatch(table.stdout, /\u001b/);
    const { stdout, code } = await audit(place, "verify");
    assert.equal(code, 0, stdout);
    for (const text of [JSON.stringify(await lines(place)), table.stdout]) {
      assert.ok(!text.includes(secret) && !text.includes(token));
    }
  }
  const [head = ""] = (await audit(place, "head")).stdout.split("\n");
  assert.match(head, /^1:\d+:[\w-]{43}$/);
  assert.equal((await audit(place, "verify", "--head", head)).code, 0);
  assert.equal((await lines(place, "--tool", "file_move")).length, 1);

  assert.match((await audit(place, "list", "--tool", "file_raed")).stderr, /^there is no such line$/m);

  const database = openDatabase(place);
  database.exec("UPDATE entry SET value = replace(value, 'notes/b.md', 'notes/x.md') WHERE key LIKE 'audit!%'");
  database.close();
  const changed = await audit(place, "verify");
  assert.equal(changed.code, 1);
  assert.match(changed.stdout, /^chain 1: batch \d+ was changed$/m);
});

Deno.test("audit: an orderly end loses no line, a kill at most those that were not yet stored, and the chain is sound", async () => {
  await using place = await makeServerPlace();
  const token = await makeToken(place, "files:write");
  const callOften = async (url: string, count: number, name: string): Promise<void> => {
    for (let at = 0; at < count; at++) {
      await (await postMcp(url, toolCall("file_list", { path: ".", pattern: `${name}${at}` }), { token })).text();
    }
  };
  {
    await using server = await startServer(place, { env });
    await callOften(server.url, 100, "orderly");
  }
  assert.equal((await lines(place, "--tool", "file_list")).length, 100);
  {
    await using server = await startServer(place, { env });
    await callOften(server.url, 100, "stored");
    await until("all lines are stored", async () => (await lines(place)).length === 200);
    const calling = callOften(server.url, 5_000, "killed").catch(() => {});
    await until("further lines are stored", async () => (await lines(place)).length > 200);
    await server.stop("SIGKILL");
    await calling;
  }
  const left = (await lines(place)).length;
  assert.ok(left > 200, `${left} lines`);
  assert.equal((await audit(place, "verify")).code, 0);
  {
    await using server = await startServer(place, { env });
    await callOften(server.url, 10, "after");
  }
  assert.equal((await lines(place)).length, left + 10);
  assert.equal((await audit(place, "verify")).code, 0);
});

Deno.test("audit: mistakes of its command line are named, and a directory that others can read is refused", async () => {
  await using place = await makeServerPlace();
  for (
    const [args, said] of [
      [["list", "--since", "soon"], /--since must be a date/],
      [["list", "--limit", "0"], /--limit must be a whole number from 1 to 1000000/],
      [["verify", "--head", "1:2:x"], /--head must be what `.* audit head( --data-dir \S+)?` printed/],
      [["verify", "--user", "ada"], /does not take --user/],
      [["list", "all"], /does not take "all"/],
      [["lits"], /did you mean list/],
    ] as const
  ) {
    const { code, stderr } = await audit(place, ...args);
    assert.equal(code, 2, args.join(" "));
    assert.match(stderr, said);
  }
  await Deno.chmod(place.dataDir, 0o755);
  for (const action of ["list", "verify", "head"]) {
    const { code, stdout, stderr } = await audit(place, action);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /can be read or changed by other users/);
  }
});
