/** What spans say of the database, by OpenTelemetry's conventions; its address, never its user or password. */
import type { Config } from "../config/config.ts";
import type { SpanAttributes } from "../lib/tracer.ts";

export function databaseAttributes({ database }: Pick<Config, "database">): SpanAttributes {
  if (database === undefined) return { "db.system.name": "sqlite" };
  if (database.kind === "deno_kv") return { "db.system.name": "deno_kv" };
  return { "db.system.name": "postgresql", "server.address": database.host, "server.port": database.port };
}
