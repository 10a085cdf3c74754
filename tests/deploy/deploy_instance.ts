/**
 * Portcullis as Deno Deploy starts it, as far as its documentation says: `deno run --allow-all main.ts` without
 * arguments or flags, settings from the environment, the platform's choice of where to listen, no disk that is ours.
 */
import { randomBytes } from "node:crypto";
import { freePort } from "../fixtures/free_port.ts";
import { type RunningServer, startServer } from "../fixtures/running_server.ts";
import { findPostgres, startPostgresCluster } from "../storage/postgres_cluster.ts";

/** An app of the platform: what its instances share. */
export interface DeployApp {
  /** The address that its clients type; its first instance listens there. */
  readonly serverUrl: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Neither root nor anybody else can make a directory here. */
const noDisk = { dataDir: "/proc/none/data", workspaceDir: "/proc/none/workspace" };

/** What a database of the platform is here. */
export interface DeployDatabase extends AsyncDisposable {
  /** What tells an app of it. */
  readonly env: Readonly<Record<string, string>>;
  /** What tells a command on the operator's machine of it. */
  readonly atHome: Readonly<Record<string, string>>;
  /** A directory of the test's own, on SQLite with the database in it. */
  readonly directory: string;
}

/** PostgreSQL where this machine has it, described as the platform describes it; else SQLite, in a directory that stays. */
export async function createDeployDatabase(): Promise<DeployDatabase> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-deploy-" });
  const found = findPostgres();
  const cluster = "missing" in found ? null : await startPostgresCluster(found.programs);
  const { hostname, port, username, password, pathname } = new URL(cluster?.url ?? "postgres://none");
  return {
    env: cluster === null ? { DATA_DIR: directory } : {
      PGHOST: hostname,
      PGPORT: port,
      PGUSER: username,
      PGPASSWORD: password,
      PGDATABASE: pathname.slice(1),
      PGSSLMODE: "prefer",
    },
    atHome: cluster === null ? { DATA_DIR: directory } : { DATABASE_URL: cluster.url },
    directory,
    async [Symbol.asyncDispose]() {
      await cluster?.[Symbol.asyncDispose]();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/** Makes an app whose database the variables name. */
export function createDeployApp(database: Readonly<Record<string, string>>): DeployApp {
  const serverUrl = `http://127.0.0.1:${freePort()}`;
  return {
    serverUrl,
    env: {
      DENO_DEPLOY: "true",
      DENO_DEPLOY_APP_SLUG: "app",
      MASTER_KEY: randomBytes(32).toString("base64"),
      SERVER_URL: serverUrl,
      ...database,
    },
  };
}

/** Starts an instance at the app's address, or (`isFurther`) beside it: `url` is where it listens. */
export async function startDeployInstance(
  { serverUrl, env }: DeployApp,
  options: {
    readonly isFurther?: boolean;
    /** The entry point, from the repository's root; `main.ts` unless a test has one of its own. */
    readonly program?: string;
  } = {},
): Promise<RunningServer> {
  const url = options.isFurther ? `http://127.0.0.1:${freePort()}` : serverUrl;
  const server = await startServer({ ...noDisk, [Symbol.asyncDispose]: () => Promise.resolve() }, {
    ...(options.program === undefined ? {} : { program: options.program }),
    flags: ["--allow-all"],
    command: null,
    env: { ...env, DENO_SERVE_ADDRESS: `tcp:${new URL(url).host}` },
  });
  return { ...server, url };
}
