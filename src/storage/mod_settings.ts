/**
 * Settings of the storage, and the names of its files. `app` reads them before the rest of storage is loaded; the
 * sandbox derives from the names what the server's worker may see.
 */
import { optional, parseMasterKey, parseText, required, type ValuesOf } from "../lib/settings.ts";
import { decodeTriplets, parseIpAddress } from "../lib/network.ts";
import { failure, type Result, success } from "../lib/result.ts";

/** Settings under the heading Storage. */
export const storageSettings = {
  dataDir: required({
    env: "DATA_DIR",
    flag: "data-dir",
    default: "~/.portcullis",
    parse: parseText,
    help: "directory for the database and the master key",
  }),
  database: optional({
    env: "DATABASE_URL",
    parse: parseDatabaseUrl,
    secret: true,
    help: "PostgreSQL database instead of SQLite in DATA_DIR; TLS to other machines unless sslmode=disable",
  }),
  masterKey: optional({
    env: "MASTER_KEY",
    parse: parseMasterKey,
    secret: true,
    help:
      "key for everything sealed and signed, instead of master.key in DATA_DIR; the same for every instance on one database",
  }),
  previousMasterKey: optional({
    env: "MASTER_KEY_PREVIOUS",
    parse: parseMasterKey,
    secret: true,
    help: "the master key before this one, as base64; what it sealed is sealed again at the next start",
  }),
};

/** The values of {@link storageSettings}, parsed. */
export type StorageSettings = ValuesOf<typeof storageSettings>;

/** The names of the files in a data directory, and in a backup of one. */
export const dataFiles = { database: "portcullis.db", masterKey: "master.key" } as const;

/** A PostgreSQL database in place of the data directory's. */
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

/** Stricter than libpq, where `require` takes any certificate, an attacker's too. */
const verifying = ["require", "verify-ca", "verify-full"];
/** libpq falls back to plain text there when a man in the middle asks for it: here the host decides. */
const opportunistic = [null, "prefer", "allow"];
const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Takes `DATABASE_URL` apart, or returns a hint at what is accepted, which never shows the text: it may hold a password. */
export function parseDatabaseUrl(text: string): Result<PostgresLocation, string> {
  const url = URL.parse(text);
  if (url?.protocol !== "postgres:" && url?.protocol !== "postgresql:") {
    return failure("must be of the form postgres://USER:PASSWORD@HOST/DATABASE");
  }
  const parameter = (name: string): string | null => url.searchParams.get(name);
  const host = parameter("host") ?? url.hostname;
  const port = Number(parameter("port") ?? (url.port || 5_432));
  if (!(Number.isInteger(port) && port > 0 && port < 65_536)) return failure("must have a port from 1 to 65535");
  const user = parameter("user") ?? decodeTriplets(url.username);
  const password = parameter("password") ?? decodeTriplets(url.password);
  const database = parameter("dbname") ?? decodeTriplets(url.pathname.slice(1));
  if (host === "" || !user || !database || password === null) {
    return failure("must name a user, a host (or ?host=/socket/directory) and a database");
  }
  const sslmode = parameter("sslmode");
  const hostDecides = opportunistic.includes(sslmode);
  if (!hostDecides && sslmode !== "disable" && !verifying.includes(sslmode ?? "")) {
    return failure("must have sslmode=verify-full, or sslmode=disable");
  }
  const isLocal = host.startsWith("/") || loopback.test(host);
  const tls = hostDecides ? !isLocal : sslmode !== "disable";
  const bareHost = host.replace(/^\[(.*)\]$/, "$1");
  if (tls && (parseIpAddress(bareHost) !== null || host.startsWith("/"))) {
    return failure(
      "must name the server as its certificate does, not by an address; or have sslmode=disable on a network that you trust",
    );
  }
  const rootCertificatePath = parameter("sslrootcert");
  return success({
    kind: "postgres",
    host: bareHost,
    port,
    database,
    user,
    password,
    tls,
    ...(rootCertificatePath === null || rootCertificatePath === "system" ? {} : { rootCertificatePath }),
  });
}
