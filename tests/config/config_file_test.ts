import assert from "node:assert/strict";
import { loadConfig } from "../../src/app/config/config.ts";
import { describeProblems, findSetting, parseConfigFile, readConfigFile } from "../../src/app/config/settings.ts";
import { storageSettings } from "../../src/storage/mod_settings.ts";

const known = ["PORT", "HOST", "DATA_DIR", "OWNER_PASSWORD_HASH", "MASTER_KEY", "MASTER_KEY_FILE"];

const accepted: readonly (readonly [text: string, values: Readonly<Record<string, string>>])[] = [
  ["", {}],
  ["# a comment\n\n   \n  # another", {}],
  ["PORT=4000", { PORT: "4000" }],
  ["PORT=4000\r\nHOST=::1\r\n", { PORT: "4000", HOST: "::1" }],
  ["\uFEFFPORT=4000", { PORT: "4000" }],
  ["export PORT=4000", { PORT: "4000" }],
  ["  PORT = 4000  ", { PORT: "4000" }],
  ["PORT='4000' # why", { PORT: "4000" }],
  ['DATA_DIR="/srv/a b"', { DATA_DIR: "/srv/a b" }],
  ["DATA_DIR='/srv/\"a\" b'", { DATA_DIR: '/srv/"a" b' }],
  ['DATA_DIR="C:\\data"', { DATA_DIR: "C:\\data" }],
  ["PORT=4000 # why", { PORT: "4000" }],
  ["DATA_DIR=/srv/a#b", { DATA_DIR: "/srv/a#b" }],
  ["DATA_DIR='/srv/a #b'", { DATA_DIR: "/srv/a #b" }],
  ["PORT=", { PORT: "" }],
  ["PORT= # none", { PORT: "" }],
  ["OWNER_PASSWORD_HASH=$argon2id$v=19$m=1,t=1,p=1$YWE$YWE", {
    OWNER_PASSWORD_HASH: "$argon2id$v=19$m=1,t=1,p=1$YWE$YWE",
  }],
  ["MASTER_KEY_FILE=/run/key", { MASTER_KEY_FILE: "/run/key" }],
];

Deno.test("a configuration file takes KEY=value, comments, quotes, export and CRLF, and expands nothing", () => {
  for (const [text, values] of accepted) {
    const parsed = parseConfigFile(new TextDecoder().decode(new TextEncoder().encode(text)), "/f", known);
    assert.deepEqual(parsed, { ok: true, value: values }, JSON.stringify(text));
  }
});

const refused: readonly (readonly [text: string, line: number, hint: RegExp])[] = [
  ["PORT", 1, /^is not KEY=value$/],
  ["# one\nhunter2 hunter2", 2, /^is not KEY=value$/],
  ["1PORT=1", 1, /^is not KEY=value$/],
  ["PORT=1\nHOST=a\nPORT=2", 3, /^sets PORT again, which line 1 sets$/],
  ["PROT=1", 1, /^sets PROT, which is not a setting; did you mean PORT\?$/],
  ["port=1", 1, /did you mean PORT\?$/],
  ["c2VjcmV0aHVudGVyMg==", 1, /^does not set a setting$/],
  ["HTTPS_PROXY=http://u:hunter2@proxy", 1, /^does not set a setting$/],
  ["__proto__=1", 1, /^does not set a setting$/],
  ["DATA_DIR='/srv/hunter2", 1, /^the value of DATA_DIR has a quote/],
  ["DATA_DIR='/srv/hunter2' more", 1, /^the value of DATA_DIR has a quote/],
  ['DATA_DIR="', 1, /^the value of DATA_DIR has a quote/],
];

Deno.test("a configuration file with a mistake is refused with the line's number, and without its text", () => {
  for (const [text, line, hint] of refused) {
    const parsed = parseConfigFile(text, "/f", known);
    assert.ok(!parsed.ok, text);
    assert.deepEqual(parsed.error.map(({ field }) => field), [`/f, line ${line}`], text);
    assert.match(parsed.error[0]?.hint ?? "", hint);
    assert.doesNotMatch(JSON.stringify(parsed.error), /hunter2|c2Vj/);
  }
  const many = parseConfigFile("x\n".repeat(30_000), "/f", known);
  assert.ok(!many.ok && many.error.length < 50, "a bounded number of problems");
});

Deno.test("a configuration file is refused where others can read or change it, and the remedy is said", async () => {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-config-" });
  const path = `${directory}/portcullis.env`;
  const read = (options = { known, mayBeAbsent: false }) => readConfigFile(path, options);
  const refusal = () => {
    const outcome = read();
    return outcome.ok ? "" : describeProblems(outcome.error);
  };
  try {
    assert.match(refusal(), /cannot be read: there is no such file/);
    assert.deepEqual(read({ known, mayBeAbsent: true }), { ok: true, value: null });
    await Deno.writeTextFile(path, "PORT=4000\n");
    for (const mode of [0o600, 0o400, 0o700]) {
      await Deno.chmod(path, mode);
      assert.deepEqual(read(), { ok: true, value: { path, values: { PORT: "4000" } } }, mode.toString(8));
    }
    for (const [mode, why] of [[0o644, "read"], [0o604, "read"], [0o620, "changed"], [0o602, "changed"]] as const) {
      await Deno.chmod(path, mode);
      assert.match(refusal(), new RegExp(`can be ${why} by others.*: chmod 600 ${path}\n`), mode.toString(8));
    }
    await Deno.chmod(path, 0o640);
    const { uid } = await Deno.stat(path);
    assert.equal(read().ok, uid === 0, "a group reads what root lets it read, and nothing else");
    await Deno.writeTextFile(path, `# ${"x".repeat(70_000)}`);
    await Deno.chmod(path, 0o600);
    assert.match(refusal(), /is larger than 65536 bytes/);
    await Deno.writeFile(path, new Uint8Array([0xff, 0xfe, 0x50, 0x00]));
    assert.match(refusal(), /is not UTF-8 text/);
    await Deno.remove(path);
    await Deno.mkdir(path);
    assert.match(refusal(), /is not a file/);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("a flag outranks the environment, which outranks the file, which outranks the default", () => {
  const sources = (flags: Record<string, string>, env: Record<string, string>, values: Record<string, string>) => ({
    flags,
    env,
    file: { path: "/f", values },
    readFile: (path: string) => `read from ${path}`,
  });
  const find = (...given: Parameters<typeof sources>) => {
    const found = findSetting(storageSettings.dataDir, sources(...given), []);
    return [found?.source, found?.text];
  };
  const [flags, env, values] = [{ "data-dir": "/flag" }, { DATA_DIR: "/env" }, { DATA_DIR: "/file" }];
  assert.deepEqual(find(flags, env, values), ["flag", "/flag"]);
  assert.deepEqual(find({}, env, values), ["environment", "/env"]);
  assert.deepEqual(find({}, { DATA_DIR: "" }, values), ["file", "/file"]);
  assert.deepEqual(find({}, {}, { DATA_DIR: "" }), ["default", "~/.portcullis"]);

  const secret = (env: Record<string, string>, values: Record<string, string>) =>
    findSetting(storageSettings.masterKey, sources({}, env, values), [])?.text;
  assert.equal(secret({ MASTER_KEY: "env" }, { MASTER_KEY_FILE: "/key" }), "env");
  assert.equal(secret({ MASTER_KEY_FILE: "/key" }, { MASTER_KEY: "file" }), "read from /key");
  assert.equal(secret({}, { MASTER_KEY_FILE: "/key" }), "read from /key");
});

Deno.test("a value of the file that is not usable is named with the file, and the file cannot lie in the workspace", () => {
  const load = (path: string, values: Record<string, string>) =>
    loadConfig({ flags: {}, env: {}, file: { path, values }, readFile: () => "" });
  const outside = load("/etc/portcullis.env", { PORT: "99999" });
  assert.match(outside.ok ? "" : describeProblems(outside.error), /PORT in \/etc\/portcullis\.env = "99999": must be/);
  const inside = load("/srv/ws/.env", { WORKSPACE_DIR: "/srv/ws" });
  assert.match(inside.ok ? "" : describeProblems(inside.error), /--config = "\/srv\/ws\/\.env": must not lie in the/);
  const good = load("/etc/portcullis.env", { WORKSPACE_DIR: "/srv/ws" });
  assert.ok(good.ok);
  assert.equal(good.value.configFile, "/etc/portcullis.env");
});
