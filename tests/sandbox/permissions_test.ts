import assert from "node:assert/strict";
import { join } from "node:path";
import { type Config, loadConfig } from "../../src/app/config/config.ts";
import { realPathBelow, serverPermissions, storagePaths, upstreamHosts } from "../../src/app/sandbox/permissions.ts";

function configOf(env: Record<string, string>): Config {
  const places = { DATA_DIR: "/srv/data", WORKSPACE_DIR: "/srv/files" };
  const config = loadConfig({ flags: {}, env: { ...places, ...env }, readFile: () => "" });
  assert.ok(config.ok, JSON.stringify(config));
  return config.value;
}

const samePath = (path: string): string => path;

Deno.test("serverPermissions() names the listen address, the upstreams, the workspace and the data directory, and nothing else", () => {
  const config = configOf({ PORT: "8123", OLLAMA_HOST: "localhost" });
  assert.deepEqual(serverPermissions(config, samePath), {
    net: ["127.0.0.1:8123", "localhost:11434"],
    read: ["/srv/files", "/srv/data"],
    write: ["/srv/files", "/srv/data"],
    env: false,
    run: false,
    ffi: [],
    sys: false,
    import: false,
  });
});

Deno.test("with the workspace in the database, the worker gets no directory for it", () => {
  const { read, write } = serverPermissions(configOf({ WORKSPACE_STORE: "storage" }), samePath);
  assert.deepEqual([read, write], [["/srv/data"], ["/srv/data"]]);
});

Deno.test("upstreamHosts() lists what the settings name, as Deno writes host and port", () => {
  const cases: [Record<string, string>, readonly string[]][] = [
    [{ OLLAMA_HOST: "gpu.example" }, ["gpu.example:11434"]],
    [{ OLLAMA_HOST: "https://GPU.example" }, ["gpu.example:443"]],
    [{ OLLAMA_HOST: "[::1]:9" }, ["[::1]:9"]],
    [{ OLLAMA_HOST: "0.0.0.0" }, ["127.0.0.1:11434"]],
    [{
      OLLAMA_HOST: "a:1",
      SERVICENOW_INSTANCE: "https://dev1.service-now.com",
      SERVICENOW_CLIENT_ID: "id",
      SERVICENOW_CLIENT_SECRET: "secret",
    }, ["a:1", "dev1.service-now.com:443"]],
    [{ OLLAMA_HOST: "a:1", OTEL_DENO: "true" }, ["a:1"]],
    [{ OLLAMA_HOST: "a:1", NOTIFY_URL: "https://ntfy.sh/t" }, ["a:1", "ntfy.sh:443"]],
    [{ OLLAMA_HOST: "a:1", DATABASE_URL: "postgres://u:p@localhost/d" }, ["a:1", "localhost:5432"]],
    [{ OLLAMA_HOST: "a:1", DATABASE_URL: "postgres://u:p@[::1]:7/d" }, ["a:1", "[::1]:7"]],
  ];
  for (const [env, expected] of cases) assert.deepEqual(upstreamHosts(configOf(env)), expected);
});

Deno.test("client metadata documents do not open the worker's network: the main thread fetches them", () => {
  for (const setting of ["on", "off"]) {
    const { net } = serverPermissions(configOf({ CLIENT_METADATA_DOCUMENTS: setting, OLLAMA_HOST: "a:1" }), samePath);
    assert.deepEqual(net, ["127.0.0.1:3000", "a:1"]);
  }
});

Deno.test("serverPermissions() names the address of the metrics where there are any, and no file of TLS", () => {
  const config = configOf({ METRICS_PORT: "[::1]:9464", OLLAMA_HOST: "a:1" });
  assert.deepEqual(serverPermissions(config, samePath).net, ["127.0.0.1:3000", "[::1]:9464", "a:1"]);
  const pem = (kind: string): string => `-----BEGIN ${kind}-----\n-----END ${kind}-----\n`;
  const withTls = loadConfig({
    flags: {},
    env: { DATA_DIR: "/srv/data", WORKSPACE_DIR: "/srv/files", TLS_CERT_FILE: "/etc/c", TLS_KEY_FILE: "/etc/k" },
    readFile: (path) => pem(path === "/etc/c" ? "CERTIFICATE" : "PRIVATE KEY"),
  });
  assert.ok(withTls.ok);
  assert.deepEqual(serverPermissions(withTls.value, samePath).read, ["/srv/files", "/srv/data"]);
});

Deno.test("serverPermissions() adds what a database lies in", () => {
  const socket = serverPermissions(configOf({ DATABASE_URL: "postgres://u:p@localhost/d?host=/run/pg" }), samePath);
  assert.ok(socket.read.includes("/run/pg/.s.PGSQL.5432") && socket.write.includes("/run/pg/.s.PGSQL.5432"));
  assert.equal(socket.net.some((host) => host.includes("pg")), false);
});

Deno.test("serverPermissions() names a directory under its real path too, also one that is yet to be made", async () => {
  const parent = await Deno.makeTempDir();
  try {
    const real = Deno.realPathSync(parent);
    await Deno.mkdir(join(real, "real"));
    await Deno.symlink(join(real, "real"), join(real, "link"));
    const config = configOf({ WORKSPACE_DIR: join(real, "link", "new", "files"), DATA_DIR: join(real, "link") });
    const { read } = serverPermissions(config, realPathBelow);
    assert.deepEqual(read, [
      join(real, "link", "new", "files"),
      join(real, "real", "new", "files"),
      join(real, "link"),
      join(real, "real"),
    ]);
  } finally {
    await Deno.remove(parent, { recursive: true });
  }
});

Deno.test("a configuration arrives whole in another thread", () => {
  const config = configOf({
    SERVER_URL: "https://mcp.example",
    DCR_AUTH_TOKEN: "0123456789abcdef",
    ALLOWED_ORIGINS: "https://a.example",
    DATABASE_URL: "postgres://u:p@localhost/d",
    OLLAMA_HOST: "http://user:pass@a:1",
  });
  const arrived = structuredClone(config);
  assert.deepEqual(arrived, config);
});

Deno.test("storagePaths() has the data directory in each spelling", () => {
  const spellings = storagePaths(configOf({}), (path) => path.replace("/srv", "/mnt"));
  assert.deepEqual(spellings, ["/srv/data", "/mnt/data"]);
});
