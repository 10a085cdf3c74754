import assert from "node:assert/strict";
import { type ConfigSources, loadConfig } from "../../src/app/config/config.ts";
import { describeProblems } from "../../src/app/config/settings.ts";
import { expandHome } from "../../src/lib/system_path.ts";

function load(sources: Partial<ConfigSources>) {
  return loadConfig({ flags: {}, env: {}, readFile: () => assert.fail("no file was named"), ...sources });
}

const randomKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

function loaded(env: Record<string, string>) {
  const config = load({ env });
  assert.ok(config.ok, config.ok ? "" : describeProblems(config.error));
  return config.value;
}

function problemFields(env: Record<string, string>): string[] {
  const config = load({ env });
  return config.ok ? [] : config.error.map(({ field }) => field);
}

Deno.test("loadConfig() with nothing set gives a server for this machine alone", () => {
  const config = loaded({});
  assert.equal(config.http.host, "127.0.0.1");
  assert.equal(config.http.port, 3000);
  assert.equal(config.authorizationServer.registration, "open");
  assert.equal(config.mcp.compatibility, "auto");
  assert.equal(config.ollama.models, undefined);
  assert.ok(config.workspace.dir.startsWith("/") && config.workspace.dir.endsWith("mcp-workspace"));
  assert.ok([config, ...Object.values(config)].every((part) => Object.isFrozen(part)));
});

Deno.test("loadConfig() prefers a flag to the environment and takes an empty variable for absent", () => {
  const config = load({ flags: { port: "4000" }, env: { PORT: "5000", HOST: "" } });
  assert.ok(config.ok);
  assert.equal(config.value.http.port, 4000);
  assert.equal(config.value.http.host, "127.0.0.1");
});

Deno.test("loadConfig() reports every problem at once, with field, value and hint, and no secret", () => {
  const config = load({
    flags: { port: "99999" },
    env: {
      SERVER_URL: "http://user:hunter2@mcp.example.com",
      ACCESS_TOKEN_LIFETIME: "0",
      DCR_AUTH_TOKEN: "tiny-secret",
      COMPATIBILITY: "sometimes",
      SERVICENOW_INSTANCE: "http://example.service-now.com",
    },
  });
  assert.ok(!config.ok);
  const text = describeProblems(config.error);
  for (
    const field of [
      "--port",
      "SERVER_URL",
      "ACCESS_TOKEN_LIFETIME",
      "DCR_AUTH_TOKEN",
      "COMPATIBILITY",
      "SERVICENOW_INSTANCE",
    ]
  ) {
    assert.ok(text.includes(field), field);
  }
  assert.ok(text.includes('"99999"') && text.includes("from 0 to 65535"));
  assert.ok(!text.includes("tiny-secret") && !text.includes("hunter2"), text);
});

Deno.test("loadConfig() refuses issuers that cannot be one (RFC 8414 §2: https, no query or fragment)", () => {
  for (
    const url of [
      "http://mcp.example.com",
      "https://a.example/?q",
      "https://a.example/#",
      "ftp://a.example",
      "a.example",
    ]
  ) {
    assert.deepEqual(problemFields({ SERVER_URL: url }), ["SERVER_URL"], url);
  }
  const token = { DCR_AUTH_TOKEN: "k3Jp9vQx2LmN8rTz" };
  const ownPaths = ["mcp", "oauth", "console/x", "files", "icons", "setup", "health", "token", "servicenow"];
  for (const path of [...ownPaths, "a/mcp", "a//b", "a%20b", ".well-known", "../a/..;", "a'b"]) {
    assert.deepEqual(problemFields({ ...token, SERVER_URL: `https://a.example/${path}` }), ["SERVER_URL"], path);
  }
  for (const path of ["/portcullis", "/a/b-c_d", "/MCP"]) {
    for (const end of ["", "/"]) {
      const { serverUrl } = loaded({ ...token, SERVER_URL: `https://a.example${path}${end}` }).http;
      assert.equal(serverUrl, `https://a.example${path}`);
    }
  }
  assert.equal(loaded({ ...token, SERVER_URL: "https://MCP.example.com/" }).http.serverUrl, "https://mcp.example.com");
});

Deno.test("METRICS_PORT is a port on this machine, or an address with a port", () => {
  const cases: readonly (readonly [text: string, host: string, port: number])[] = [
    ["9464", "127.0.0.1", 9464],
    ["0.0.0.0:9464", "0.0.0.0", 9464],
    ["metrics.internal:1", "metrics.internal", 1],
    ["[::1]:0", "::1", 0],
  ];
  for (const [text, host, port] of cases) {
    assert.deepEqual(loaded({ METRICS_PORT: text }).telemetry.metricsAddress, { host, port }, text);
  }
  for (const text of ["x", "65536", ":9464", "host:", "::1", "::1:9464", "a b:1", "host:-1", "host:1:2", "[x]:1"]) {
    assert.deepEqual(problemFields({ METRICS_PORT: text }), ["METRICS_PORT"], text);
  }
});

Deno.test("loadConfig() fails fast on what a public server must not do", () => {
  assert.deepEqual(problemFields({ SERVER_URL: "https://mcp.example.com" }), ["DCR_AUTH_TOKEN"]);
  assert.deepEqual(problemFields({ SERVER_URL: "https://mcp.example.com", REGISTRATION: "off" }), []);
  assert.deepEqual(problemFields({ HOST: "0.0.0.0" }), ["SERVER_URL"]);
  assert.deepEqual(problemFields({ DCR_AUTH_TOKEN: "aaaaaaaaaaaaaaaaaaaa" }), ["DCR_AUTH_TOKEN"]);
  assert.deepEqual(problemFields({ DATA_DIR: "/srv/ws/data", WORKSPACE_DIR: "/srv/ws" }), ["DATA_DIR"]);
});

Deno.test("loadConfig() reads a secret from the file that its _FILE variable names", () => {
  const read: string[] = [];
  const config = load({
    env: { DCR_AUTH_TOKEN_FILE: "/run/secrets/dcr" },
    readFile: (path) => (read.push(path), "k3Jp9vQx2LmN8rTz\n"),
  });
  assert.ok(config.ok);
  assert.deepEqual(read, ["/run/secrets/dcr"]);
  assert.equal(config.value.authorizationServer.registrationToken, "k3Jp9vQx2LmN8rTz");
  assert.equal(config.value.authorizationServer.registration, "token");
});

Deno.test("loadConfig() takes a master key of 32 random bytes, in either base64, and nothing weaker", () => {
  const key = crypto.getRandomValues(new Uint8Array(32));
  for (const alphabet of ["base64", "base64url"] as const) {
    assert.deepEqual(loaded({ MASTER_KEY: key.toBase64({ alphabet }) }).storage.masterKey, key);
  }
  for (const weak of ["secret", "A".repeat(43), key.toBase64().slice(4)]) {
    assert.deepEqual(problemFields({ MASTER_KEY: weak }), ["MASTER_KEY"], weak);
  }
});

Deno.test("on Deno Deploy, the defaults are those that fit it: the workspace in the database, an end within its 5 s", () => {
  const env = {
    MASTER_KEY: randomKey,
    SERVER_URL: "https://mcp.example",
    DCR_AUTH_TOKEN: "0123456789abcdef",
    DATABASE_URL: "postgresql://u:p@db.prisma.io:5432/3ba03b-production",
  };
  assert.equal(loaded(env).onDeploy, false);
  const config = loaded({ ...env, DENO_DEPLOY: "true" });
  assert.equal(config.onDeploy, true);
  assert.equal(config.workspace.store, "storage");
  assert.equal(config.server.shutdownTimeoutSeconds, 3);
});

Deno.test("on Deno Deploy, the database is the one that the platform names, by either of its ways", () => {
  const env = {
    DENO_DEPLOY: "true",
    MASTER_KEY: randomKey,
    SERVER_URL: "https://mcp.example",
    DCR_AUTH_TOKEN: "0123456789abcdef",
  };
  const variables = {
    PGHOST: "db.prisma.io",
    PGPORT: "5432",
    PGUSER: "u",
    PGPASSWORD: "p/@ß",
    PGDATABASE: "3ba03b--main",
    PGSSLMODE: "require",
  };
  const expected = {
    kind: "postgres",
    host: "db.prisma.io",
    port: 5432,
    user: "u",
    database: "3ba03b--main",
    tls: true,
  };
  assert.deepEqual(loaded({ ...env, ...variables }).storage.database, { ...expected, password: "p/@ß" });
  const url = "postgresql://u:other@db.prisma.io:5432/3ba03b--main";
  assert.deepEqual(loaded({ ...env, ...variables, DATABASE_URL: url }).storage.database, {
    ...expected,
    password: "other",
  });
  assert.equal(loaded({ ...variables }).storage.database, undefined, "elsewhere PG* says nothing of Portcullis");
});

Deno.test("on Deno Deploy, what no instance can make for itself must be set, and the hint names the app's address", () => {
  const config = load({
    env: {
      DENO_DEPLOY: "true",
      DENO_DEPLOY_APP_SLUG: "files",
      DENO_DEPLOY_ORG_SLUG: "acme",
      WORKSPACE_STORE: "disk",
    },
  });
  assert.ok(!config.ok);
  assert.deepEqual(config.error.map(({ field }) => field), [
    "MASTER_KEY",
    "SERVER_URL",
    "DATABASE_URL",
    "WORKSPACE_STORE",
  ]);
  assert.match(describeProblems(config.error), /https:\/\/files\.acme\.deno\.net/);
});

Deno.test("loadConfig() names each path that begins in a home directory that the user does not have", () => {
  const config = load({ home: () => null });
  assert.ok(!config.ok);
  assert.deepEqual(config.error.map(({ field }) => field), ["DATA_DIR", "WORKSPACE_DIR"]);
  assert.match(describeProblems(config.error), /this user has none: set it to an absolute path, or set HOME/);
  const placed = load({ home: () => null, env: { DATA_DIR: "/srv/data", WORKSPACE_DIR: "/srv/files" } });
  assert.ok(placed.ok);
});

Deno.test("loadConfig() blames the setting that was chosen where the workspace holds the data directory", () => {
  const at = (sources: Partial<ConfigSources>): string => {
    const config = load({ home: () => "/home/ann", ...sources });
    return config.ok ? "" : describeProblems(config.error);
  };
  const held = /must not hold \/home\/ann\/\.portcullis, which agents could read/;
  assert.match(at({ flags: { workspace: "/home/ann" } }), /--workspace = "\/home\/ann": must not hold/);
  assert.match(at({ env: { WORKSPACE_DIR: "~" } }), held);
  assert.match(at({ env: { DATA_DIR: "~/mcp-workspace/d" } }), /DATA_DIR = .*: must not lie in the workspace \/home/);
  assert.match(at({ flags: { "data-dir": "/w/d", workspace: "/w" } }), /--data-dir = "\/w\/d": must not lie in/);
});

Deno.test("a path begins with ~, $HOME or ${HOME} wherever it is given, and with no other name", () => {
  const home = (): string => "/home/ann";
  for (const start of ["~", "$HOME", "${HOME}"]) {
    const config = load({ home, env: { WORKSPACE_DIR: `${start}/ws`, DATA_DIR: `${start}/d` } });
    assert.ok(config.ok);
    assert.deepEqual([config.value.workspace.dir, config.value.storage.dataDir], ["/home/ann/ws", "/home/ann/d"]);
    assert.equal(expandHome(start, home), "/home/ann");
  }
  for (const text of ["$HOMER/ws", "$XDG_DATA_HOME/ws", "${X}/ws", "%USERPROFILE%/ws", "~bob/ws"]) {
    const config = load({ home, env: { WORKSPACE_DIR: text } });
    assert.ok(!config.ok, text);
    assert.match(
      describeProblems(config.error),
      /WORKSPACE_DIR = ".*": begins with a name that is not expanded: write/,
    );
  }
  const read: string[] = [];
  const { HOME = "" } = Deno.env.toObject();
  load({
    env: { DCR_AUTH_TOKEN_FILE: "$HOME/t", TLS_CERT_FILE: "~/c", TLS_KEY_FILE: "${HOME}/k" },
    readFile: (path) => read.push(path) ? "" : "",
  });
  assert.ok(read.includes(`${HOME}/t`), read.join());
  const inside = load({
    env: { WORKSPACE_DIR: "~/ws", DCR_AUTH_TOKEN_FILE: "$HOME/ws/t" },
    readFile: () => "x".repeat(4) + "abcdefghijklm",
  });
  assert.match(
    inside.ok ? "" : describeProblems(inside.error),
    /DCR_AUTH_TOKEN_FILE = .*: must not lie in the workspace/,
  );
});

Deno.test("every setting that is a time takes seconds and times with units, and says so when it refuses", () => {
  const times: readonly (readonly [
    name: string,
    text: string,
    read: (config: ReturnType<typeof loaded>) => number,
    value: number,
  ])[] = [
    ["TOOL_TIMEOUT", "5m", (config) => config.mcp.toolTimeoutSeconds, 300],
    ["SHUTDOWN_TIMEOUT", "30s", (config) => config.server.shutdownTimeoutSeconds, 30],
    ["ACCESS_TOKEN_LIFETIME", "12h", (config) => config.authorizationServer.accessTokenLifetimeSeconds, 43_200],
    ["AUDIT_KEEP", "90m", (config) => config.audit.keepMs, 5_400_000],
    ["TRASH_KEEP", "12h", (config) => config.workspace.trashKeepMs, 43_200_000],
  ];
  for (const [name, text, read, value] of times) {
    assert.equal(read(loaded({ [name]: text })), value, name);
    for (const wrong of ["2w", "-5m", "5 m", "1.5h", "999d9"]) {
      const config = load({ env: { [name]: wrong } });
      assert.match(
        config.ok ? "" : describeProblems(config.error),
        new RegExp(`${name} = "${wrong}": must be a number of .*such as`),
      );
    }
  }
});

Deno.test("commands that listen nowhere ask neither for SERVER_URL nor for DCR_AUTH_TOKEN", () => {
  for (const env of [{ HOST: "0.0.0.0" }, { SERVER_URL: "https://mcp.example.com" }]) {
    assert.ok(load({ env, listens: false }).ok);
    assert.ok(!load({ env }).ok);
  }
  const config = load({ env: { SERVER_URL: "https://mcp.example.com" } });
  assert.match(
    config.ok ? "" : describeProblems(config.error),
    /DCR_AUTH_TOKEN = \(not set\): .*openssl rand -base64 32/,
  );
});

Deno.test("a refused choice names the nearest one, and a URL with a name in it is none", () => {
  const config = load({ env: { COMPATIBILITY: "servicnow", SERVER_URL: "https://$HOST" } });
  const text = config.ok ? "" : describeProblems(config.error);
  assert.match(text, /must be one of: auto, structured, spec, servicenow, guide; did you mean servicenow\?/);
  assert.match(text, /SERVER_URL = "https:\/\/\$HOST": must be a URL such as/);
});
