/** What the release workflow, the image and the compose files say about the rest of the repository. */
import assert from "node:assert/strict";
import { root } from "../../scripts/bundle.ts";
import { registryName } from "../../scripts/release/registry_entry.ts";
import type { Setting } from "../../src/config/setting.ts";
import { settings } from "../../src/config/settings.ts";

const read = (path: string): Promise<string> => Deno.readTextFile(`${root}${path}`);

Deno.test("one version of Deno: the gate's, the release's, the image's", async () => {
  const pinned = /^deno_version=(\S+)$/m.exec(await read(".ci/run"))?.[1];
  assert.ok(pinned);
  assert.equal(/DENO_VERSION: (\S+)/.exec(await read(".github/workflows/release.yml"))?.[1], pinned);
  assert.equal(/deno-version: (\S+)/.exec(await read(".github/workflows/ci.yml"))?.[1], pinned);
  assert.equal(/denoland\/deno:(\S+)/.exec(await read("Dockerfile"))?.[1], pinned);
  assert.ok((await read("README.md")).includes(`deno@${pinned}`));
});

Deno.test("the workflows run tasks and scripts that are there", async () => {
  const workflow = await read(".github/workflows/release.yml") + await read(".github/workflows/ci.yml");
  const { tasks } = JSON.parse(await read("deno.json"));
  const named = Array.from(workflow.matchAll(/deno task ([\w-]+)/g), ([, task]) => task ?? "");
  assert.ok(named.length >= 2);
  for (const task of named) assert.ok(task in tasks, task);
});

Deno.test("the image's label is the name in the registry, which compares them", async () => {
  const label = /io\.modelcontextprotocol\.server\.name=(.*)/.exec(await read(".github/workflows/release.yml"))?.[1];
  assert.equal(label?.replace("${{ github.repository }}", "Someone/portcullis"), registryName("Someone/portcullis"));
});

Deno.test("everything that the image is made of is in its context", async () => {
  const [dockerfile, ignored] = [await read("Dockerfile"), await read(".dockerignore")];
  for (const [, sources = ""] of dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)) {
    for (const source of sources.split(" ")) {
      assert.ok(ignored.includes(`!${source}\n`), source);
      assert.ok(await Deno.stat(`${root}${source}`));
    }
  }
});

Deno.test("the image and the compose files set nothing that is no setting", async () => {
  const known = new Set(Object.values(settings as Record<string, Setting<unknown>>).map(({ env }) => env));
  const image = Array.from((await read("Dockerfile")).matchAll(/^ENV (.+)$/gm), ([, pairs = ""]) => pairs.split(" "));
  const names = image.flat().map((pair) => pair.split("=", 1)[0] ?? "").filter((name) => name !== "NO_COLOR");
  for (const file of ["compose.yaml", "compose.postgres.yaml"]) {
    const service = /^ {2}portcullis:\n((?: {4,}.*\n|\n)+)/m.exec(await read(file))?.[1] ?? "";
    const environment = /^ {4}environment:\n((?: {6,}.*\n)+)/m.exec(service)?.[1] ?? "";
    names.push(...Array.from(environment.matchAll(/^ {6}(\w+):/gm), ([, name]) => name ?? ""));
  }
  assert.ok(names.length >= 8, names.join(" "));
  for (const name of names) assert.ok(known.has(name), name);
});
