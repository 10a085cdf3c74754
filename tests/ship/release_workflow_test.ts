/** What the release workflow, the image and the compose files say about the rest of the repository. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { parse } from "yaml";
import { root } from "../../scripts/bundle.ts";
import { targets } from "../../scripts/compile.ts";
import { downloadPinned, pinnedDownloads } from "../../scripts/release/pinned_download.ts";
import { registryName } from "../../scripts/release/registry_entry.ts";
import { unpinnedActions, unpinnedImages } from "../../scripts/release/require_pins.ts";
import { settings } from "../../src/app/config/settings.ts";

const read = (path: string): Promise<string> => Deno.readTextFile(`${root}${path}`);

Deno.test("one version of Deno: the gate's, the release's, the image's", async () => {
  const pinned = /^deno_version=(\S+)$/m.exec(await read(".ci/run"))?.[1];
  assert.ok(pinned);
  assert.equal(/DENO_VERSION: (\S+)/.exec(await read(".github/workflows/release.yml"))?.[1], pinned);
  assert.equal(/deno-version: (\S+)/.exec(await read(".github/workflows/ci.yml"))?.[1], pinned);
  assert.equal(/denoland\/deno:([\d.]+)/.exec(await read("Dockerfile"))?.[1], pinned);
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
  const known = new Set(settings.map(({ env }) => env));
  const image = Array.from((await read("Dockerfile")).matchAll(/^ENV (.+)$/gm), ([, pairs = ""]) => pairs.split(" "));
  const names = image.flat().map((pair) => pair.split("=", 1)[0] ?? "").filter((name) =>
    !["NO_COLOR", "container"].includes(name)
  );
  for (const file of ["compose.yaml", "compose.postgres.yaml"]) {
    const service = /^ {2}portcullis:\n((?: {4,}.*\n|\n)+)/m.exec(await read(file))?.[1] ?? "";
    const environment = /^ {4}environment:\n((?: {6,}.*\n)+)/m.exec(service)?.[1] ?? "";
    names.push(...Array.from(environment.matchAll(/^ {6}(\w+):/gm), ([, name]) => name ?? ""));
  }
  assert.ok(names.length >= 8, names.join(" "));
  for (const name of names) assert.ok(known.has(name), name);
});

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly needs?: string | readonly string[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly environment?: string;
  readonly steps: readonly Step[];
}

async function jobsOf(workflow: string): Promise<Readonly<Record<string, Job>>> {
  return parse(await read(`.github/workflows/${workflow}`)).jobs;
}

Deno.test("the workflows name every action by a commit, and leave no token in a checkout", async () => {
  for (const workflow of ["ci.yml", "release.yml"]) {
    assert.deepEqual(unpinnedActions(await read(`.github/workflows/${workflow}`)), []);
    for (const { steps } of Object.values(await jobsOf(workflow))) {
      for (const step of steps.filter(({ uses = "" }) => uses.startsWith("actions/checkout@"))) {
        assert.equal(step.with?.["persist-credentials"], false);
      }
    }
  }
});

Deno.test("release.yml: jobs that may write wait for approval, check out no source, and run nothing that was built", async () => {
  const jobs = Object.entries(await jobsOf("release.yml"));
  const writing = jobs.filter(([, { permissions = {} }]) => Object.values(permissions).includes("write"));
  assert.deepEqual(writing.map(([name]) => name), ["publish-image", "publish-programs", "registry"]);
  for (const [name, { environment, steps }] of writing) {
    assert.equal(environment, "release", name);
    for (const { uses = "", run = "" } of steps) {
      assert.doesNotMatch(uses, /checkout|setup-deno|setup-node|buildx|build-push/, name);
      assert.doesNotMatch(run, /\b(deno|npm|npx|node|docker build|curl|wget)\b/, name);
    }
  }
});

Deno.test("release.yml: the release is published after its image, and the registry hears of both last", async () => {
  const jobs = await jobsOf("release.yml");
  assert.ok(jobs["publish-programs"]?.needs?.includes("publish-image"));
  assert.ok(jobs["registry"]?.needs?.includes("publish-programs"));
  for (const job of ["programs", "image"]) assert.equal(jobs[job]?.needs, "gate");
});

Deno.test("what a release takes from elsewhere: unpinned actions and images are found, and every download is listed", () => {
  assert.deepEqual(unpinnedActions("  - uses: a/b@v1\n  - uses: ./own\n  - uses: c/d@" + "0".repeat(40)), ["a/b@v1"]);
  const images = "ARG BUILD_IMAGE=docker.io/a/b:1\n    image: docker.io/c:latest\n    image: portcullis\n" +
    "    image: ${D:-docker.io/d:1}\n        sbom: generator=docker/scanner:1\n";
  assert.deepEqual(unpinnedImages(images), [
    "docker.io/a/b:1",
    "docker.io/c:latest",
    "docker.io/d:1",
    "docker/scanner:1",
  ]);
  assert.deepEqual(unpinnedImages(`ARG BUILD_IMAGE=docker.io/a/b:1@sha256:${"0".repeat(64)}\n`), []);
  for (const target of targets) assert.ok(`denort-${target}.zip` in pinnedDownloads, target);
});

Deno.test("every image that is built from, built with or started is named by digest", async () => {
  for (const file of ["Dockerfile", "compose.yaml", "compose.postgres.yaml", ".github/workflows/release.yml"]) {
    assert.deepEqual(unpinnedImages(await read(file)), [], file);
  }
  const gate = (await jobsOf("release.yml"))["gate"];
  assert.ok(gate?.steps.some(({ run }) => run === "deno task release pins"), "the release asks for all pins");
});

Deno.test("a download of a release is kept only if it has the pinned digest", async () => {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-downloads-" });
  const contents = "as it was published";
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    ({ url }) => url.endsWith("/gone") ? new Response("", { status: 404 }) : new Response(contents),
  );
  const address = `http://127.0.0.1:${server.addr.port}/file`;
  try {
    const sha256 = createHash("sha256").update(contents).digest("hex");
    const path = await downloadPinned("file", { url: address, sha256 }, directory);
    assert.equal(await Deno.readTextFile(path), contents);
    const other = { url: address, sha256: "0".repeat(64) };
    await assert.rejects(downloadPinned("other", other, directory), /not the pinned/);
    await assert.rejects(downloadPinned("other", { url: address, sha256: null }, directory), /no digest/);
    await assert.rejects(downloadPinned("other", { url: `${address}/gone`, sha256 }, directory), /404/);
    assert.deepEqual(Array.from(Deno.readDirSync(directory), ({ name }) => name), ["file"]);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
