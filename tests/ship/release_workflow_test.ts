/** What the release workflow, the image and the compose files say about the rest of the repository. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { parse } from "yaml";
import { root } from "../../scripts/bundle.ts";
import { targets } from "../../scripts/compile.ts";
import {
  downloadChecked,
  findUnpinned,
  pinDownloads,
  readPins,
  unpinnedActions,
  unpinnedImages,
} from "../../scripts/release/pins.ts";
import { steps } from "../../scripts/release/release.ts";
import { settings } from "../../src/app/config/settings.ts";
import { freePort } from "../fixtures/free_port.ts";

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

Deno.test("release.yml: jobs that may write wait for approval, have one script of the sources, and run nothing that was built", async () => {
  const jobs = Object.entries(await jobsOf("release.yml"));
  const writing = jobs.filter(([, { permissions = {} }]) => Object.values(permissions).includes("write"));
  assert.deepEqual(writing.map(([name]) => name), ["publish-image", "publish-programs", "publish-npm", "registry"]);
  for (const [name, { environment, steps }] of writing) {
    assert.equal(environment, "release", name);
    for (const { uses = "", run = "", with: options } of steps) {
      assert.doesNotMatch(uses, /setup-deno|buildx|build-push/, name);
      if (uses.includes("actions/checkout")) {
        assert.equal(options?.["sparse-checkout"], "scripts/release/publish.sh", name);
      }
      assert.doesNotMatch(run, /(?:^|[\s;|&(])(deno|npm|npx|node|docker|wget)\s/, name);
      if (/\bcurl\b/.test(run)) assert.match(run, /sha256sum --check --strict <<<"[0-9a-f]{64} {2}/, name);
    }
  }
});

Deno.test("release.yml: each upload waits for what it names: the image, the release, the npm package, the registry", async () => {
  const jobs = await jobsOf("release.yml");
  const order = ["publish-image", "publish-programs", "publish-npm", "registry"];
  for (const [index, name] of order.slice(1).entries()) {
    assert.ok(jobs[name]?.needs?.includes(order[index] ?? ""), name);
  }
  for (const job of ["programs", "image"]) assert.equal(jobs[job]?.needs, "gate");
});

Deno.test("release.yml runs every step of the release script, and every step of the one that uploads", async () => {
  const workflow = await read(".github/workflows/release.yml");
  const only = Array.from(workflow.matchAll(/--only (\S+)/g), ([, names = ""]) => names.split(",")).flat();
  assert.deepEqual(only, Object.keys(steps));
  const uploads = Array.from(workflow.matchAll(/publish\.sh (\w+)$/gm), ([, name]) => name);
  const cases = (await read("scripts/release/publish.sh")).matchAll(/^ {2}(\w+)\)$/gm);
  assert.deepEqual(uploads, Array.from(cases, ([, name]) => name));
});

Deno.test("what a release takes from elsewhere: unpinned actions and images are found, and every download is listed", async () => {
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
  const { downloads } = await readPins();
  assert.deepEqual(Object.keys(downloads).sort(), targets.map((target) => `denort-${target}.zip`).sort());
  for (const [name, { url, sha256, checksumUrl = "" }] of Object.entries(downloads)) {
    assert.ok(url.endsWith(name) && checksumUrl.includes(name), name);
    assert.notEqual(new URL(url).host, new URL(checksumUrl).host, "the second source is another host");
    assert.match(sha256 ?? "0".repeat(64), /^[0-9a-f]{64}$/);
  }
});

Deno.test("every image that is built from, built with or started is named by digest", async () => {
  for (
    const file of [
      "Dockerfile",
      "compose.yaml",
      "compose.postgres.yaml",
      ".github/workflows/release.yml",
      "scripts/release/release.ts",
    ]
  ) {
    assert.deepEqual(unpinnedImages(await read(file)), [], file);
  }
});

Deno.test("a download of a release is kept only if it has the pinned digest, or the one that a second source says", async () => {
  await using place = await downloadPlace();
  const { directory, address, sha256 } = place;
  const url = `${address}/file`;
  const path = await downloadChecked("file", { url, sha256 }, directory);
  assert.equal(await Deno.readTextFile(path), contents);
  const second = { url, sha256: null, checksumUrl: `${address}/file.sha256sum` };
  assert.equal(await Deno.readTextFile(await downloadChecked("second", second, directory)), contents);
  const refused: readonly (readonly [Parameters<typeof downloadChecked>[1], RegExp])[] = [
    [{ url, sha256: "0".repeat(64) }, /not the one pinned/],
    [{ url, sha256: null }, /neither a digest nor a checksumUrl/],
    [{ url: `${address}/gone`, sha256 }, /404/],
    [{ ...second, url: `${address}/other` }, /not the one that .*sha256sum says/],
    [{ ...second, checksumUrl: `${address}/file` }, /does not say one SHA-256/],
    [{ ...second, checksumUrl: `${address}/two.sha256sum` }, /does not say one SHA-256/],
    [{ ...second, checksumUrl: `${address}/gone` }, /404/],
  ];
  for (const [pin, reason] of refused) await assert.rejects(downloadChecked("other", pin, directory), reason);
  assert.deepEqual(Array.from(Deno.readDirSync(directory), ({ name }) => name).sort(), ["file", "second"]);
});

Deno.test("release --pin writes the digest that both sources have, keeps those that are pinned, and stops at a difference", async () => {
  await using place = await downloadPlace();
  const { directory, address, sha256 } = place;
  const file = `${directory}/pins.json`;
  const pin = (name: string, of = name) => ({
    url: `${address}/${name}`,
    checksumUrl: `${address}/${of}.sha256sum`,
    sha256: null,
  });
  const pinned = { url: `${address}/gone`, sha256: "1".repeat(64) };
  const write = (downloads: object): Promise<void> =>
    Deno.writeTextFile(file, JSON.stringify({ esbuild: { a: 1 }, downloads }));
  await write({ pinned, file: pin("file"), windows: pin("windows") });
  assert.deepEqual(await pinDownloads(file), ["file", "windows"]);
  const { esbuild, downloads } = JSON.parse(await Deno.readTextFile(file));
  assert.deepEqual(esbuild, { a: 1 }, "the rest stays");
  assert.deepEqual([downloads.pinned, downloads.file.sha256, downloads.windows.sha256], [pinned, sha256, sha256]);
  assert.deepEqual(await pinDownloads(file), [], "nothing is left to pin");
  await write({ file: pin("file"), other: pin("other", "file"), last: pin("file") });
  await assert.rejects(pinDownloads(file), /other has the SHA-256/);
  const after = JSON.parse(await Deno.readTextFile(file)).downloads;
  assert.deepEqual([after.file.sha256, after.other.sha256, after.last.sha256], [sha256, null, null]);
});

const contents = "as it was published";

Deno.test("release --pin says which of the two sources failed, and how, and pins nothing", async () => {
  await using place = await downloadPlace();
  const { directory, address, cut } = place;
  const file = `${directory}/pins.json`;
  const unreachable = `http://127.0.0.1:${freePort()}/file`;
  const cases: readonly (readonly [file: string, second: string, RegExp])[] = [
    [
      unreachable,
      `${address}/file.sha256sum`,
      /^http:\/\/127\S+\/file cannot be reached \(.*refused.*\): run it again$/i,
    ],
    [`${address}/file`, unreachable, /^http:\/\/127\S+\/file cannot be reached \(.*refused.*\): run it again$/i],
    [cut, `${address}/file.sha256sum`, /\/cut broke off after 5 bytes \(.*\): run it again$/],
    [`${address}/file`, cut, /\/cut broke off after 5 bytes/],
    [`${address}/short`, `${address}/file.sha256sum`, /^file has the SHA-256 \w+, not the one that .*sha256sum says/],
    [`${address}/gone`, `${address}/file.sha256sum`, /\/gone answers 404$/],
    [`${address}/file`, `${address}/gone`, /\/gone answers 404$/],
    [`${address}/file`, `${address}/file`, /does not say one SHA-256$/],
  ];
  for (const [url, checksumUrl, message] of cases) {
    const before = JSON.stringify({ esbuild: {}, downloads: { file: { url, checksumUrl, sha256: null } } });
    await Deno.writeTextFile(file, before);
    await assert.rejects(pinDownloads(file), { message });
    assert.equal(await Deno.readTextFile(file), before);
  }
  assert.deepEqual(Array.from(Deno.readDirSync(directory), ({ name }) => name), ["pins.json"]);
});

Deno.test("a download without a digest stops a release for its own target alone, with the line to type", async () => {
  const { downloads } = await readPins();
  const [missing] = Object.entries(downloads).filter(([, { sha256 }]) => sha256 === null).map(([name]) => name);
  for (const target of targets) {
    const name = `denort-${target}.zip`;
    const expected = downloads[name]?.sha256 === null ? [`download ${name}: deno task release --pin`] : [];
    assert.deepEqual(await findUnpinned([target]), expected);
  }
  assert.equal((await findUnpinned(targets)).length > 0, missing !== undefined);
  assert.deepEqual(await findUnpinned([]), []);
});

/** Answers with a body that ends before its end, as where a connection breaks. */
async function answerCutOff(listener: Deno.Listener): Promise<void> {
  const answer = `HTTP/1.1 200 OK\r\ncontent-length: ${contents.length}\r\n\r\n${contents.slice(0, 5)}`;
  for await (const connection of listener) {
    await connection.read(new Uint8Array(16_384)); // what is left unread would end it by a reset, before the body is read
    await connection.write(new TextEncoder().encode(answer));
    connection.close();
  }
}

/** A host that publishes a file and its checksum: `windows.sha256sum` as PowerShell prints one. */
async function downloadPlace() {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-downloads-" });
  const sha256 = createHash("sha256").update(contents).digest("hex");
  const answers: Readonly<Record<string, string>> = {
    "/file": contents,
    "/windows": contents,
    "/other": "something else",
    "/short": contents.slice(0, 5),
    "/file.sha256sum": `${sha256}  file\n`,
    "/windows.sha256sum":
      `\r\nAlgorithm : SHA256\r\nHash      : ${sha256.toUpperCase()}\r\nPath      : D:\\a\\windows\r\n`,
    "/two.sha256sum": `${sha256}  file\n${"0".repeat(64)}  other\n`,
  };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, ({ url }) => {
    const answer = answers[new URL(url).pathname];
    return answer === undefined ? new Response("", { status: 404 }) : new Response(answer);
  });
  const broken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const ended = answerCutOff(broken);
  return {
    directory,
    sha256,
    cut: `http://127.0.0.1:${broken.addr.port}/cut`,
    address: `http://127.0.0.1:${server.addr.port}`,
    async [Symbol.asyncDispose](): Promise<void> {
      broken.close();
      await Promise.all([ended, server.shutdown()]);
      await Deno.remove(directory, { recursive: true });
    },
  };
}
