/** What a release has beside its programs, made from stand-ins for the programs. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { inflateRawSync } from "node:zlib";
import { root } from "../../scripts/bundle.ts";
import { binaryName, targets } from "../../scripts/compile.ts";
import { bundleManifest } from "../../scripts/release/mcpb.ts";
import { registryName } from "../../scripts/release/registry_entry.ts";
import { makeReleaseFiles } from "../../scripts/release/release_files.ts";
import { zip } from "../../scripts/release/zip.ts";
import { npmPackageName } from "../../src/lib/program_name.ts";
import { registryEntrySchema } from "./registry_entry_schema.ts";
import { needsPrograms } from "../fixtures/skipped_unless.ts";

const { version }: { readonly version: string } = JSON.parse(await Deno.readTextFile(`${root}deno.json`));

async function release(): Promise<{ dist: string; files: string[] }> {
  const dist = await Deno.makeTempDir({ prefix: "portcullis-release-" });
  for (const target of targets) await Deno.writeTextFile(`${dist}/${binaryName(target)}`, `program for ${target}`);
  await Deno.mkdir(`${dist}/bundle/src`, { recursive: true });
  for (const name of ["main.js", "src/piece.js"]) await Deno.writeTextFile(`${dist}/bundle/${name}`, name);
  return {
    dist,
    files: await makeReleaseFiles({ dist, version, repository: "Someone/portcullis", denoVersion: "2.9.6" }),
  };
}

Deno.test("a release has an archive and a bundle for each program, a bill of materials, the registry entry and checksums of what is attached", async () => {
  const { dist, files } = await release();
  assert.equal(files.filter((name) => name.endsWith(".mcpb")).length, targets.length);
  assert.equal(files.filter((name) => /\.(zip|tar\.gz)$/.test(name)).length, targets.length);
  assert.deepEqual(Array.from(Deno.readDirSync(`${dist}/assets`), ({ name }) => name).sort(), [...files].sort());
  const sums = new Map(
    (await Deno.readTextFile(`${dist}/assets/SHA256SUMS`)).trimEnd().split("\n").map((line) => {
      const [sum = "", name = ""] = line.split("  ");
      return [name, sum];
    }),
  );
  assert.deepEqual(
    [...sums.keys()],
    files.filter((name) => name !== "SHA256SUMS"),
    "what is attached, and nothing else",
  );
  for (const [name, sum] of sums) {
    assert.equal(createHash("sha256").update(await Deno.readFile(`${dist}/assets/${name}`)).digest("hex"), sum, name);
  }
  await Deno.remove(dist, { recursive: true });
});

Deno.test("release files are the same bytes when they are made again", async () => {
  const [first, second] = [await release(), await release()];
  assert.equal(
    await Deno.readTextFile(`${first.dist}/assets/SHA256SUMS`),
    await Deno.readTextFile(`${second.dist}/assets/SHA256SUMS`),
  );
  for (const { dist } of [first, second]) await Deno.remove(dist, { recursive: true });
});

Deno.test("the registry entry keeps the registry's rules: its name, its lengths, a digest for each bundle", async () => {
  const { dist } = await release();
  const entry = JSON.parse(await Deno.readTextFile(`${dist}/server.json`));
  assert.equal(entry.name, registryName("Someone/portcullis"));
  const checked = registryEntrySchema.safeParse(entry);
  assert.ok(checked.success, checked.error?.message);
  for (
    const broken of [
      { ...entry, name: "portcullis" },
      { ...entry, description: "x".repeat(101) },
      { ...entry, packages: [{ ...entry.packages[2], fileSha256: undefined }] },
      { ...entry, packages: [{ ...entry.packages[1], version: entry.version }] },
      { ...entry, packages: [{ ...entry.packages[2], version: entry.version }] },
      { ...entry, packages: [{ ...entry.packages[2], identifier: "https://example.com/portcullis.mcpb" }] },
    ]
  ) assert.ok(!registryEntrySchema.safeParse(broken).success);
  assert.equal(entry.version, version);
  const [npm, image, ...bundles] = entry.packages;
  assert.deepEqual([npm.identifier, npm.version], [npmPackageName, version]);
  assert.equal(image.identifier, `ghcr.io/someone/portcullis:${version}`);
  assert.equal(bundles.length, targets.length);
  for (const bundle of bundles) {
    assert.match(bundle.fileSha256, /^[a-f0-9]{64}$/);
    assert.ok(bundle.identifier.startsWith(`https://github.com/Someone/portcullis/releases/download/v${version}/`));
    assert.deepEqual(bundle.transport, { type: "stdio" });
  }
  await Deno.remove(dist, { recursive: true });
});

Deno.test("the bill of materials names every package that the program runs, with the digest that the lock file pins", async () => {
  const { dist } = await release();
  const bill = JSON.parse(await Deno.readTextFile(`${dist}/assets/portcullis.cdx.json`));
  const lock = JSON.parse(await Deno.readTextFile(`${root}deno.lock`));
  const [deno, ...packages] = bill.components;
  assert.deepEqual([deno.name, deno.version], ["deno", "2.9.6"]);
  assert.deepEqual(
    packages.map(({ name, version }: { name: string; version: string }) => `${name}@${version}`),
    Object.keys(lock.npm),
  );
  assert.equal(deno.purl, "pkg:github/denoland/deno@v2.9.6");
  for (const { licenses } of bill.components) {
    assert.match(licenses[0].license.id, /^(MIT|MIT-0|Unlicense|BSD-[23]-Clause|0BSD|Apache-2.0)$/);
  }
  for (const { name, version, hashes } of packages) {
    const pinned = `sha512-${Buffer.from(hashes[0].content, "hex").toString("base64")}`;
    assert.equal(pinned, lock.npm[`${name}@${version}`].integrity);
  }
  await Deno.remove(dist, { recursive: true });
});

const archive =
  "an archive unpacks to the program, ready to run, with its licence and the notices of all that it contains";
Deno.test({ ...needsPrograms(["tar"], archive), fn: unpackArchive });

async function unpackArchive(): Promise<void> {
  const { dist } = await release();
  const unpacked = `${dist}/unpacked`;
  await Deno.mkdir(unpacked);
  const target = "x86_64-unknown-linux-gnu";
  const { success } = await new Deno.Command("tar", {
    args: ["xzf", `${dist}/assets/portcullis-${target}.tar.gz`, "-C", unpacked],
  }).output();
  assert.ok(success);
  assert.equal(await Deno.readTextFile(`${unpacked}/portcullis`), `program for ${target}`);
  assert.equal(((await Deno.stat(`${unpacked}/portcullis`)).mode ?? 0) & 0o777, 0o755);
  assert.equal(await Deno.readTextFile(`${unpacked}/LICENSE`), await Deno.readTextFile(`${root}LICENSE`));
  const notices = await Deno.readTextFile(`${unpacked}/THIRD_PARTY_NOTICES.txt`);
  const lock = JSON.parse(await Deno.readTextFile(`${root}deno.lock`));
  for (const id of Object.keys(lock.npm)) assert.ok(notices.includes(`${id.replace(/@(?=[^@]*$)/, " ")} (`), id);
  assert.match(notices, /^Deno 2\.9\.6 \(MIT\)$/m);
  await Deno.remove(dist, { recursive: true });
}

Deno.test("a bundle starts `stdio` in the workspace that the person chose, on the platform that it is for", () => {
  const bytes = new Uint8Array();
  const options = { version: "1.2.3", program: bytes, license: bytes, notices: bytes };
  for (
    const [target, platform, entryPoint] of [
      ["x86_64-pc-windows-msvc", "win32", "server/portcullis.exe"],
      ["aarch64-apple-darwin", "darwin", "server/portcullis"],
      ["x86_64-unknown-linux-gnu", "linux", "server/portcullis"],
    ] as const
  ) {
    const manifest = bundleManifest({ ...options, target });
    assert.deepEqual(manifest["compatibility"], { platforms: [platform] });
    const server = manifest["server"] as { entry_point: string; mcp_config: { command: string; args: string[] } };
    assert.equal(server.entry_point, entryPoint);
    assert.equal(server.mcp_config.command, `\${__dirname}/${entryPoint}`);
    assert.deepEqual(server.mcp_config.args, ["stdio", "--workspace", "${user_config.workspace}"]);
  }
});

Deno.test("zip() keeps names, contents and modes (APPNOTE.TXT 4.3)", () => {
  const contents = new TextEncoder().encode("żółw ".repeat(1_000));
  const archive = Buffer.from(zip([
    { name: "a/żółw.txt", bytes: contents, executable: false },
    { name: "run", bytes: new Uint8Array(), executable: true },
  ]));
  const end = archive.subarray(-22);
  assert.equal(end.readUInt32LE(0), 0x06054b50);
  assert.equal(end.readUInt16LE(10), 2);
  let at = end.readUInt32LE(16);
  const found: [string, number, string][] = [];
  for (let entry = 0; entry < 2; entry++) {
    assert.equal(archive.readUInt32LE(at), 0x02014b50);
    const [packed, nameLength, offset] = [
      archive.readUInt32LE(at + 20),
      archive.readUInt16LE(at + 28),
      archive.readUInt32LE(at + 42),
    ];
    const name = archive.toString("utf8", at + 46, at + 46 + nameLength);
    const data = archive.subarray(offset + 30 + nameLength, offset + 30 + nameLength + packed);
    found.push([name, archive.readUInt32LE(at + 38) >>> 16, inflateRawSync(data).toString("utf8")]);
    at += 46 + nameLength;
  }
  assert.deepEqual(found, [
    ["a/żółw.txt", 0o100644, new TextDecoder().decode(contents)],
    ["run", 0o100755, ""],
  ]);
});
