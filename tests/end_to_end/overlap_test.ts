/** Keys, databases and secrets in the workspace, by whatever way they lead there: no command works with them. */
import assert from "node:assert/strict";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { makeServerPlace, runCommand } from "../fixtures/running_server.ts";

const onDisk = needing("other files");
const secret = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/** By setting: what it is set to, where KEPT is a file or directory that lies in the workspace. */
const settings: Readonly<Record<string, string>> = {
  DATA_DIR: "KEPT",
  TLS_KEY_FILE: "KEPT/key.pem",
  TLS_CERT_FILE: "KEPT/cert.pem",
  MASTER_KEY_FILE: "KEPT/secret",
  DCR_AUTH_TOKEN_FILE: "KEPT/secret",
  LLM_API_KEY_FILE: "KEPT/secret",
};
const commands = [["serve"], ["stdio"], ["doctor"], ["token", "list"], ["users", "list"], ["keys", "list"]];

onDisk.test("no command works while a key, a database or a secret lies in the workspace by way of a link", async () => {
  await using place = await makeServerPlace();
  const { workspaceDir, dataDir } = place;
  const alias = `${workspaceDir}-alias`;
  await Deno.mkdir(`${workspaceDir}/kept`, { recursive: true });
  await Deno.writeTextFile(`${workspaceDir}/kept/secret`, secret);
  await Deno.symlink(workspaceDir, alias);
  for (const kept of [`${workspaceDir}/kept`, `${alias}/kept`]) {
    for (const [name, value] of Object.entries(settings)) {
      const env = { DATA_DIR: dataDir, WORKSPACE_DIR: workspaceDir, [name]: value.replace("KEPT", kept) };
      const { code, stdout } = await runCommand(["doctor"], { env });
      assert.equal(code, 1, name);
      assert.match(
        stdout,
        new RegExp(`^  ${name} = ".*": must not lie in the workspace \\S+, where agents could read`, "m"),
      );
    }
  }
  for (const words of commands) {
    const env = { DATA_DIR: `${alias}/data`, WORKSPACE_DIR: workspaceDir };
    const { code, stdout, stderr } = await runCommand(words, { env });
    assert.notEqual(code, 0, words.join(" "));
    assert.match(stdout + stderr, /DATA_DIR = .* must not lie in the workspace /, words.join(" "));
    assert.deepEqual(Array.from(Deno.readDirSync(workspaceDir), ({ name }) => name), ["kept"]);
  }
  await Deno.remove(alias);
});

needing("data directory").test("backups are neither made in the workspace nor restored from it", async () => {
  await using place = await makeServerPlace();
  const { workspaceDir, dataDir } = place;
  const env = { DATA_DIR: dataDir, WORKSPACE_DIR: workspaceDir };
  await Deno.mkdir(workspaceDir, { recursive: true });
  assert.equal((await runCommand(["token", "create", "--scope", "files:read"], { env })).code, 0);
  await Deno.symlink(workspaceDir, `${workspaceDir}-alias`);
  for (const directory of [`${workspaceDir}/backup`, `${workspaceDir}-alias/backup`]) {
    const { code, stderr } = await runCommand(["backup", directory], { env });
    assert.equal(code, 1);
    assert.match(stderr, /^error: .*backup lies in the workspace, where agents can read and replace it\nhint: /);
    assert.deepEqual(Array.from(Deno.readDirSync(workspaceDir)), []);
  }
  await Deno.mkdir(`${workspaceDir}/backup`);
  for (const name of ["master.key", "portcullis.db"]) {
    await Deno.copyFile(`${dataDir}/${name}`, `${workspaceDir}/backup/${name}`);
  }
  const elsewhere = { ...env, DATA_DIR: `${dataDir}-2` };
  const restored = await runCommand(["restore", `${workspaceDir}/backup`], { env: elsewhere });
  assert.equal(restored.code, 1);
  assert.match(restored.stderr, /lies in the workspace/);
});

onDisk.test("doctor warns of a workspace in the data directory", async () => {
  await using place = await makeServerPlace();
  const env = { DATA_DIR: place.dataDir, WORKSPACE_DIR: `${place.dataDir}/ws`, OLLAMA_HOST: "127.0.0.1:1" };
  const { stdout } = await runCommand(["doctor"], { env });
  assert.match(stdout, /^warn +workspace: .* lies in the data directory\n +hint: choose another/m);
});
