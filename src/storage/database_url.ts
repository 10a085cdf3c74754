/** `DATABASE_URL`, taken apart. Hints never show the text: it may hold a password. */
import { parseIpAddress } from "../lib/network.ts";
import { failure, type Result, success } from "../lib/result.ts";

/** Where entries are kept when not in the data directory. */
export type DatabaseLocation = PostgresLocation | DenoKvLocation;

export interface PostgresLocation {
  readonly kind: "postgres";
  /** A name, an address, or the directory of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string;
  /** Whether the connection is encrypted and the server's certificate and name verified. */
  readonly tls: boolean;
  /** A file with the certificates to trust instead of the usual ones. */
  readonly rootCertificatePath?: string;
}

/** Deno KV; without a URL the platform's own. */
interface DenoKvLocation {
  readonly kind: "deno_kv";
  readonly url?: string;
}

const forms = "postgres://USER:PASSWORD@HOST/DATABASE?sslmode=verify-full, or deno-kv: on Deno Deploy";
const verifying = ["require", "verify-ca", "verify-full"];
const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Gives the location, or a hint that says what would be accepted. */
export function parseDatabaseUrl(text: string): Result<DatabaseLocation, string> {
  const url = URL.parse(text);
  if (url?.protocol === "postgres:" || url?.protocol === "postgresql:") return parsePostgresUrl(url);
  if (url?.protocol === "deno-kv:") {
    const address = text.slice("deno-kv:".length);
    if (address === "") return success({ kind: "deno_kv" });
    return address.startsWith("https://")
      ? success({ kind: "deno_kv", url: address })
      : failure("cannot be a file of Deno KV: leave it out to use SQLite; docs/upgrading.md says how to move a file");
  }
  return failure(`must be of the form ${forms}`);
}

function parsePostgresUrl(url: URL): Result<PostgresLocation, string> {
  const unknown = [...url.searchParams.keys()].filter((name) => !["sslmode", "sslrootcert", "host"].includes(name));
  if (unknown.length > 0) return failure(`has parameters that are not known here: ${unknown.join(", ")}`);
  const socket = url.searchParams.get("host");
  const host = socket ?? url.hostname;
  const [user, password, database] = [url.username, url.password, url.pathname.slice(1)].map(decode);
  if (host === "" || !user || !database || password === undefined) {
    return failure("must name a user, a host (or ?host=/socket/directory) and a database");
  }
  const sslmode = url.searchParams.get("sslmode");
  if (sslmode !== null && sslmode !== "disable" && !verifying.includes(sslmode)) {
    // `prefer` and `allow` fall back to plain text when a man in the middle asks for it.
    return failure("must have sslmode=verify-full, or sslmode=disable");
  }
  const isLocal = host.startsWith("/") || loopback.test(host);
  if (sslmode === null && !isLocal) {
    return failure("names another machine: add sslmode=verify-full, or sslmode=disable on a network that you trust");
  }
  const tls = sslmode !== null && sslmode !== "disable";
  const bareHost = host.replace(/^\[(.*)\]$/, "$1");
  if (tls && (parseIpAddress(bareHost) !== null || host.startsWith("/"))) {
    return failure("must name the server as its certificate does, not by an address, when sslmode asks for one");
  }
  const rootCertificatePath = url.searchParams.get("sslrootcert");
  return success({
    kind: "postgres",
    host: bareHost,
    port: url.port === "" ? 5_432 : Number(url.port),
    database,
    user,
    password,
    // Stricter than libpq, where `require` takes any certificate, an attacker's too.
    tls,
    ...(rootCertificatePath === null || rootCertificatePath === "system" ? {} : { rootCertificatePath }),
  });
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // a stray %
  }
}
