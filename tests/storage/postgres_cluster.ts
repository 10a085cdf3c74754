/** A PostgreSQL server of its own for tests: in a temporary directory, on a loopback port, as a user other than root. */
import { existsSync, readdirSync } from "node:fs";
import process from "node:process";
import { join } from "node:path";
import { madeOnce, makeOnce } from "../fixtures/forms/made_once.ts";
import { freePort } from "../fixtures/free_port.ts";
import { succeeds } from "../fixtures/skipped_unless.ts";

/** A running server. */
export interface PostgresCluster extends AsyncDisposable {
  /** For the user `portcullis`, whose password is part of it. */
  readonly url: string;
  readonly port: number;
  /** Ends every server process at once, as a crash does. */
  readonly crash: () => Promise<void>;
  readonly start: () => Promise<void>;
  /** Runs SQL as the superuser and gives what psql prints. */
  readonly administer: (statement: string) => Promise<string>;
}

const debianRoot = "/usr/lib/postgresql";

/** Where initdb, pg_ctl and psql lie, or why the suite has to be skipped. */
export function findPostgres(): { readonly programs: string } | { readonly missing: string } {
  const versions = existsSync(debianRoot) ? readdirSync(debianRoot).sort((a, b) => Number(b) - Number(a)) : [];
  const directories = [...versions.map((version) => `${debianRoot}/${version}/bin`), "/usr/local/bin", "/usr/bin"];
  const programs = directories.find((directory) =>
    ["initdb", "pg_ctl", "psql"].every((name) => existsSync(`${directory}/${name}`))
  );
  if (programs === undefined) return { missing: "PostgreSQL is not installed (Debian: apt-get install postgresql)" };
  // initdb asks the system for the user's name.
  if (!succeeds("id", ["-un"])) {
    return { missing: "this user has no name, which PostgreSQL asks for" };
  }
  return { programs };
}

/** PostgreSQL does not run as root; its Debian user, or `nobody`, does. */
async function otherUser(): Promise<{ readonly uid?: number; readonly gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  for (const name of ["postgres", "nobody"]) {
    const ids = await Promise.all(["-u", "-g"].map((flag) => output("id", [flag, name]).catch(() => "")));
    const [uid = "", gid = ""] = ids;
    if (uid !== "") return { uid: Number(uid), gid: Number(gid) };
  }
  return {};
}

async function output(command: string, args: readonly string[], options: Deno.CommandOptions = {}): Promise<string> {
  const done = await new Deno.Command(command, { ...options, args: [...args], stdin: "null" }).output();
  if (!done.success) {
    throw new Error(
      `${command} ${args[0]}: ${new TextDecoder().decode(done.stderr)}${new TextDecoder().decode(done.stdout)}`,
    );
  }
  return new TextDecoder().decode(done.stdout).trim();
}

/** Makes and starts a cluster. `settings` are lines of postgresql.conf; files named there are made by `prepare`. */
export async function startPostgresCluster(
  programs: string,
  options: { readonly settings?: readonly string[]; readonly prepare?: (data: string) => Promise<void> } = {},
): Promise<PostgresCluster> {
  const user = await otherUser();
  const directory = await Deno.makeTempDir({ prefix: "portcullis-pg-" });
  const data = `${directory}/data`;
  const run = (name: string, args: readonly string[], more: Deno.CommandOptions = {}) =>
    output(`${programs}/${name}`, args, { ...user, cwd: directory, ...more });
  const initialize = async (into: string): Promise<string> => {
    if (user.uid !== undefined && user.gid !== undefined) await Deno.chown(into, user.uid, user.gid);
    const password = crypto.randomUUID();
    await Deno.writeTextFile(`${into}/password`, password, { mode: 0o644 });
    const authentication = ["-U", "portcullis", "-A", "scram-sha-256", "--pwfile", `${into}/password`];
    await run("initdb", ["-D", `${into}/data`, ...authentication, "-E", "UTF8", "--no-locale", "--no-sync"], {
      cwd: into,
    });
    return password;
  };
  let password: string;
  if (madeOnce) { // a copy costs a tenth of initdb
    const template = join(madeOnce, "postgres");
    password = await makeOnce(template, initialize);
    if (user.uid !== undefined && user.gid !== undefined) await Deno.chown(directory, user.uid, user.gid);
    await output("cp", ["-a", `${template}/data`, data], { ...user, cwd: directory });
  } else password = await initialize(directory);
  await options.prepare?.(data);
  if (user.uid !== undefined && user.gid !== undefined) {
    for (const { name } of Array.from(Deno.readDirSync(data))) await Deno.chown(`${data}/${name}`, user.uid, user.gid);
  }
  const port = freePort();
  await Deno.writeTextFile(
    `${data}/postgresql.conf`,
    [
      `port = ${port}`,
      "listen_addresses = '127.0.0.1'",
      `unix_socket_directories = '${directory}'`,
      "fsync = off", // a crash of the server, not of the machine, is what is tested
      "shared_buffers = '16MB'",
      "max_connections = 60",
      ...options.settings ?? [],
      "",
    ].join("\n"),
    { append: true },
  );
  const start = async (): Promise<void> =>
    void await run("pg_ctl", ["start", "-w", "-s", "-D", data, "-l", `${directory}/log`]);
  const crash = async (): Promise<void> => void await run("pg_ctl", ["stop", "-m", "immediate", "-s", "-D", data]);
  await start();
  return {
    url: `postgres://portcullis:${password}@127.0.0.1:${port}/postgres`,
    port,
    crash,
    start,
    administer: (statement) =>
      run("psql", ["-h", directory, "-p", String(port), "-U", "portcullis", "-d", "postgres", "-qAtc", statement], {
        env: { PGPASSWORD: password },
      }),
    async [Symbol.asyncDispose]() {
      await crash().catch(() => {}); // it may be down already
      await Deno.remove(directory, { recursive: true });
    },
  };
}
