import assert from "node:assert/strict";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

const onDisk = needing("workspace directory");
const inDataDirectory = needing("data directory");

onDisk.test("doctor finds everything well beside a running server with its models", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }, { name: "phi3" }] });
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  const { code, stdout, stderr } = await runCommand(["doctor"], {
    env: {
      DATA_DIR: place.dataDir,
      WORKSPACE_DIR: place.workspaceDir,
      OLLAMA_HOST: ollama.url,
      SERVER_URL: server.url,
    },
  });
  assert.equal(code, 0, stdout + stderr);
  for (const name of ["configuration", "data directory", "workspace", "ollama", "metadata"]) {
    assert.match(stdout, new RegExp(`^ok +${name}: `, "m"));
  }
  assert.doesNotMatch(stdout, /^(warn|FAIL)/m);
});

inDataDirectory.test("doctor says what is wrong and what to do, a line each, and exits 1", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  await using place = await makeServerPlace();
  const fresh = await runCommand(["doctor", "--data-dir", place.dataDir, "--workspace", place.workspaceDir], {
    env: { OLLAMA_HOST: ollama.url, PORT: "1" },
  });
  assert.equal(fresh.code, 0, "what the first start will make is not broken");
  assert.match(fresh.stdout, /^warn +data directory: .*\n +hint: /m);
  assert.match(fresh.stdout, /^warn +ollama: model phi3 is not installed\n +hint: ollama pull phi3$/m);
  assert.match(fresh.stdout, /^warn +metadata: .*\n +hint: start the server/m);

  await Deno.mkdir(place.dataDir, { recursive: true });
  await Deno.chmod(place.dataDir, 0o755);
  const broken = await runCommand(["doctor", "--data-dir", place.dataDir, "--workspace", place.workspaceDir], {
    env: { OLLAMA_HOST: "127.0.0.1:1" },
  });
  assert.equal(broken.code, 1);
  assert.match(broken.stdout, /^FAIL +data directory: .*\n +hint: chmod 700 /m);
  assert.match(broken.stdout, /^FAIL +ollama: .*OLLAMA_HOST/m);

  const unusable = await runCommand(["doctor", "--port", "99999"], { env: { SERVER_URL: "ftp://a" } });
  assert.equal(unusable.code, 1);
  assert.match(unusable.stdout, /^FAIL +configuration: 2 settings are not usable\n/);
});
