import assert from "node:assert/strict";
import { loadConfig } from "../../src/app/config/config.ts";
import type { Log } from "../../src/lib/log.ts";
import { createSecretBox } from "../../src/lib/secrets.ts";
import type { Servicenow } from "../../src/servicenow/servicenow.ts";
import { openServicenow } from "../../src/app/servicenow_wiring.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { until } from "../fixtures/until.ts";

Deno.test("SERVICENOW_TOKEN_KEY: links move from the master key to a key of their own, and on to the next, without a new sign-in", async () => {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-token-key-" });
  const storage = openSqliteStorage({ path: `${directory}/portcullis.db`, clock: Date.now });
  const secrets = createSecretBox(new Uint8Array(32).fill(9));
  const [first = "", second = ""] = [1, 2].map(() => crypto.getRandomValues(new Uint8Array(32)).toBase64());
  let resealed = 0;
  const log: Log = {
    write: (_level, event) => void (resealed += event === "servicenow_links_resealed" ? 1 : 0),
    flush: () => {},
  };
  const open = async (env: Record<string, string>): Promise<Servicenow> => {
    const instance = {
      SERVICENOW_INSTANCE: "https://dev1.service-now.com",
      SERVICENOW_CLIENT_ID: "id",
      SERVICENOW_CLIENT_SECRET: "secret",
    };
    const config = loadConfig({ flags: {}, env: { ...instance, ...env }, readFile: () => assert.fail("no file") });
    assert.ok(config.ok);
    const dependencies = { storage, secrets, serverUrl: "http://127.0.0.1:3000", log, clock: Date.now, fetch };
    return await openServicenow(config.value.servicenow, dependencies) ?? assert.fail("no instance");
  };
  const isUsableUnder = async (env: Record<string, string>): Promise<boolean> => {
    const servicenow = await open(env);
    const access = await servicenow.links.access("owner", { signal: new AbortController().signal });
    servicenow.close();
    return access.ok;
  };
  const resealing = async (times: number): Promise<void> => {
    await until("the links under the other key", () => resealed >= times);
    assert.equal(resealed, times);
  };
  try {
    const servicenow = await open({});
    const tokens = { accessToken: "instance-access", refreshToken: "instance-refresh", expiresInSeconds: 1_800 };
    await servicenow.links.save("owner", tokens, { sysId: "a".repeat(32), userName: "ada", name: "Ada" });
    servicenow.close();

    assert.ok(await isUsableUnder({ SERVICENOW_TOKEN_KEY: first }));
    await resealing(1);
    assert.ok(await isUsableUnder({ SERVICENOW_TOKEN_KEY: second, SERVICENOW_TOKEN_KEY_PREVIOUS: first }));
    await resealing(2);
    assert.ok(await isUsableUnder({ SERVICENOW_TOKEN_KEY: second }), "the key before is needed no more");
    assert.ok(!await isUsableUnder({ SERVICENOW_TOKEN_KEY: first }), "and opens nothing any more");
  } finally {
    await storage.close();
    await Deno.remove(directory, { recursive: true });
  }
});
