/** The compose files as YAML, with what their second file adds to the first. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { parse } from "yaml";
import { root } from "../../scripts/bundle.ts";
import { type Config, loadConfig } from "../../src/app/config/config.ts";

interface Service {
  readonly image?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly [name: string]: unknown;
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes?: Readonly<Record<string, unknown>>;
}

async function read(file: string): Promise<Compose> {
  return parse(await Deno.readTextFile(`${root}${file}`));
}

const [base, postgres] = [await read("compose.yaml"), await read("compose.postgres.yaml")];

Deno.test("compose.yaml: the server has a read-only root, no capability, no privilege to gain, and one port on loopback", () => {
  const { portcullis } = base.services;
  assert.equal(portcullis?.["read_only"], true);
  assert.deepEqual(portcullis?.["cap_drop"], ["ALL"]);
  assert.deepEqual(portcullis?.["security_opt"], ["no-new-privileges:true"]);
  assert.deepEqual(portcullis?.ports, ["127.0.0.1:3000:3000"]);
});

Deno.test("compose files: each volume that is mounted is declared, and each service that is waited for tells its health", () => {
  for (
    const [file, { services, volumes = {} }] of [["compose.yaml", base], ["compose.postgres.yaml", postgres]] as const
  ) {
    for (const [name, service] of Object.entries(services)) {
      for (const volume of service.volumes ?? []) {
        assert.ok((volume.split(":")[0] ?? "") in volumes, `${file}: ${volume}`);
      }
      for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
        assert.equal(condition, "service_healthy", `${file}: ${name}`);
        assert.ok(services[other]?.healthcheck !== undefined, `${file}: ${other}`);
      }
    }
  }
});

Deno.test("compose.yaml: the server starts without Ollama, its image and its models", () => {
  assert.equal(base.services["portcullis"]?.depends_on, undefined);
});

/** The configuration that the container starts with: the image's variables, then the files', with `given` filled in. */
async function configOf(files: readonly Compose[], given: Readonly<Record<string, string>>): Promise<Config> {
  const image = Array.from(
    (await Deno.readTextFile(`${root}Dockerfile`)).matchAll(/^ENV (.+)$/gm),
    ([, pairs = ""]) => pairs.split(" ").map((pair) => pair.split(/=(.*)/, 2)),
  ).flat();
  const fill = (text: string): string =>
    text.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name, kind, rest) => {
      const value = given[name] ?? (kind === "-" ? rest : undefined);
      return value ?? assert.fail(`${name} is not given`);
    });
  const composed = files.flatMap(({ services }) => Object.entries(services["portcullis"]?.environment ?? {}))
    .map(([name, value]) => [name, fill(value)]);
  const config = loadConfig({
    flags: {},
    env: { HOME: "/", ...Object.fromEntries(image), ...Object.fromEntries(composed) },
    readFile: () => assert.fail("no file was named"),
  });
  assert.ok(config.ok, JSON.stringify(config));
  return config.value;
}

Deno.test("the server accepts the settings that each compose file gives it", async () => {
  const alone = await configOf([base], {});
  assert.equal(alone.storage.database, undefined);
  const { storage: { database } } = await configOf([base, postgres], { POSTGRES_PASSWORD: "hunter2" });
  assert.ok(database?.kind === "postgres");
  assert.deepEqual([database.host, database.password, database.tls], ["postgres", "hunter2", false]);
  const published = await configOf([base, postgres], {
    POSTGRES_PASSWORD: "hunter2",
    SERVER_URL: "https://mcp.example.com",
    DCR_AUTH_TOKEN: randomBytes(32).toString("base64"),
  });
  assert.equal(published.http.serverUrl, "https://mcp.example.com");
});

Deno.test("compose.postgres.yaml adds PostgreSQL to the same server, and no secret is in either file", async () => {
  assert.ok("portcullis" in base.services && "portcullis" in postgres.services);
  const { POSTGRES_USER, POSTGRES_DB } = postgres.services["postgres"]?.environment ?? {};
  const url = postgres.services["portcullis"]?.environment?.["DATABASE_URL"] ?? "";
  assert.ok(
    url.startsWith(`postgres://${POSTGRES_USER}:\${POSTGRES_PASSWORD:?`) &&
      url.endsWith(`@postgres:5432/${POSTGRES_DB}?sslmode=disable`),
  );
  for (const file of ["compose.yaml", "compose.postgres.yaml"]) {
    for (const line of (await Deno.readTextFile(`${root}${file}`)).split("\n")) {
      if (/(PASSWORD|TOKEN|SECRET|KEY):/.test(line)) assert.match(line, /\$\{\w+:[?-]/, line);
    }
  }
});
