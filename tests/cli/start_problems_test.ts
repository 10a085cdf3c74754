/** What a person reads when a command cannot use a place: the place's name, why, and what to do, without a stack. */
import assert from "node:assert/strict";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { makeServerPlace, runCommand } from "../fixtures/running_server.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { makeTemporaryFile } from "../fixtures/temporary_file.ts";
import { faultWords, pathRemedy, systemFaultWords } from "../../src/lib/system_fault.ts";

const onDisk = needing("workspace directory");
const inDataDirectory = needing("data directory");

/** Neither a stack, nor a code, nor advice to switch the permissions off. */
function assertPlainWords(stderr: string): void {
  assert.doesNotMatch(stderr, /\n {4}at |Uncaught|--allow-|run again|os error|\bE[A-Z]{4,}\b|unknown error/, stderr);
}

/** Directories that no command can use. `{}` is a file. */
const unusable: readonly (readonly [path: string, why: RegExp])[] = [
  ["/proc/nope", /the runtime does not allow it|permission denied|no such file/],
  ["{}", /is not a directory|a file is in its place|a part of the path is a file|not allow/],
  ["{}/below", /a part of the path is a file/],
];

for (const [pattern, why] of unusable) {
  onDisk.test(`serve and stdio name the workspace, not the port, when it is ${pattern}`, async () => {
    await using place = await makeServerPlace();
    await using file = await makeTemporaryFile();
    const path = pattern.replace("{}", file.path);
    for (const command of [["serve", "--port", "0"], ["stdio"]]) {
      const { code, stdout, stderr } = await runCommand(
        [...command, "--data-dir", place.dataDir, "--workspace", path],
      );
      assert.deepEqual([code, stdout], [1, ""], stderr);
      assert.ok(stderr.includes(`error: the workspace ${path}`), stderr);
      assert.match(stderr, why);
      assert.match(stderr, /\nhint: .*--workspace/);
      assert.doesNotMatch(stderr, /cannot listen/);
      assertPlainWords(stderr);
    }
  });

  inDataDirectory.test(`every command names the data directory when it is ${pattern}`, async () => {
    await using place = await makeServerPlace();
    await using file = await makeTemporaryFile();
    const path = pattern.replace("{}", file.path);
    const commands = [["serve", "--port", "0"], ["stdio"], ["token", "list"], ["users", "list"]];
    for (const command of commands) {
      const { code, stderr } = await runCommand([...command, "--data-dir", path, "--workspace", place.workspaceDir]);
      assert.equal(code, 1, `${command}: ${stderr}`);
      assert.ok(stderr.includes(path), stderr);
      assert.match(stderr, /^error: .*\nhint: /m);
      assertPlainWords(stderr);
    }
  });

  inDataDirectory.test(`backup and restore name the directory that they cannot use: ${pattern}`, async () => {
    await using place = await makeServerPlace();
    await using file = await makeTemporaryFile();
    const path = pattern.replace("{}", file.path);
    const data = ["--data-dir", place.dataDir, "--workspace", place.workspaceDir];
    assert.equal((await runCommand(["token", "create", "--scope", "files:read", ...data])).code, 0);
    for (const command of [["backup", path], ["restore", path]]) {
      const { code, stderr } = await runCommand([...command, ...data]);
      assert.equal(code, 1, stderr);
      assert.ok(stderr.includes(path.replace(/\/below$/, "")), stderr);
      assert.match(stderr, /^error: .*\nhint: /);
      assertPlainWords(stderr);
    }
  });
}

Deno.test({
  ...skippedUnless(Deno.uid() !== 0, "root may read all", "serve refuses a workspace that it may not read"),
  async fn() {
    await using place = await makeServerPlace();
    await Deno.mkdir(place.workspaceDir, { recursive: true });
    await Deno.chmod(place.workspaceDir, 0o300);
    const { code, stderr } = await runCommand(
      ["serve", "--port", "0", "--data-dir", place.dataDir, "--workspace", place.workspaceDir],
    );
    await Deno.chmod(place.workspaceDir, 0o700);
    assert.equal(code, 1, stderr);
    assert.match(stderr, /^error: the workspace .* cannot be used: permission denied\nhint: .*chown or chmod/m);
    assertPlainWords(stderr);
  },
});

Deno.test("an address that cannot be listened on is told as one, in words", async () => {
  await using place = await makeServerPlace();
  const places = ["--data-dir", place.dataDir, "--workspace", place.workspaceDir];
  const { code, stderr } = await runCommand(["serve", "--host", "192.0.2.1", "--port", "0", ...places], {
    env: { SERVER_URL: "http://127.0.0.1:3999" },
  });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^error: cannot listen on 192\.0\.2\.1 port 0: this machine does not have that address\nhint: /m,
  );
  assertPlainWords(stderr);
});

Deno.test("systemFaultWords() knows errors of the system and the runtime, and leaves defects alone", () => {
  const withCode = (code: string) => Object.assign(new Error("x"), { code });
  assert.equal(systemFaultWords(withCode("EACCES")), "permission denied");
  assert.equal(systemFaultWords(new Deno.errors.PermissionDenied("x")), "permission denied");
  assert.equal(systemFaultWords(new Deno.errors.NotCapable("Requires all access")), "the runtime does not allow it");
  assert.equal(systemFaultWords(withCode("ESTALE")), "the system reports ESTALE");
  for (const defect of [new TypeError("x"), withCode("ERR_INVALID_ARG_TYPE"), "text", null]) {
    assert.equal(systemFaultWords(defect), null);
  }
  assert.equal(faultWords(new TypeError("x")), "x");
  assert.match(pathRemedy(withCode("EACCES"), "choose another"), /chown or chmod.*, or choose another/);
  assert.match(pathRemedy(withCode("ENOSPC"), "choose another"), /free some space, or choose another/);
  assert.equal(pathRemedy(withCode("ENOENT"), "choose another"), "choose another");
});
