/** Variables of earlier versions: each that is set is named once, with what holds now, and changes nothing. */
import assert from "node:assert/strict";
import { loadConfig } from "../../src/app/config/config.ts";
import { describeFormerSettings, formerSettingNames, formerSettingsIn } from "../../src/app/config/former_settings.ts";
import { settings } from "../../src/app/config/settings.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

Deno.test("each former setting is named with what holds now, whatever its text, and none is a setting", () => {
  const variables = new Map(settings.map((setting) => [setting.env, setting]));
  const several = Object.fromEntries(formerSettingNames.map((name) => [name, "http://a.example,http://b.example"]));
  const found = formerSettingsIn(several);
  assert.deepEqual(found.map(({ name }) => name), formerSettingNames);
  assert.equal(new Set(formerSettingNames).size, formerSettingNames.length);
  for (const { name, now } of found) {
    assert.match(now, /^\S.*[^\s.]$/, name);
    assert.ok(describeFormerSettings(found)?.includes(`${name} (now: ${now})`), name);
    // A setting that stays may be among them for what it no longer does: then its default must not be.
    const preset = variables.get(name)?.default;
    if (variables.has(name)) assert.deepEqual(formerSettingsIn({ [name]: preset ?? "" }), [], name);
  }
  assert.deepEqual(formerSettingsIn({ PORT: "1", JWT_ISSUER: "" }), []);
  assert.equal(describeFormerSettings([]), null);
});

Deno.test("loadConfig() ignores the text of a former setting", () => {
  const env = { JWT_ISSUER: "nonsense" };
  const loaded = loadConfig({ flags: {}, env, readFile: () => "" });
  assert.ok(loaded.ok);
  assert.deepEqual(loaded.value.formerSettings.map(({ name }) => name), ["JWT_ISSUER"]);
});

const env = { JWT_ISSUER: "https://mcp.example.com" };

Deno.test("serve, stdio and doctor name the former settings that are set, each in one line", async () => {
  await using place = await makeServerPlace();
  const places = ["--data-dir", place.dataDir, "--workspace", place.workspaceDir];
  const expected = /JWT_ISSUER \(now: SERVER_URL is the issuer\)/g;
  const outputs: string[] = [];
  {
    await using server = await startServer(place, { env });
    outputs.push(server.stderr());
  }
  outputs.push((await runCommand(["stdio", ...places], { env })).stderr);
  outputs.push((await runCommand(["doctor", ...places], { env })).stdout);
  for (const output of outputs) assert.equal(output.match(expected)?.length, 1, output);
});
