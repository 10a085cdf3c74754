/** Looks into the storage of a stopped server: is the file sound, and did every batch arrive whole or not at all. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { decodeKey } from "../../src/storage/port.ts";

/** One entry as it lies there. */
export interface RawEntry {
  readonly key: string;
  readonly value: string;
  readonly expires_at: number | null;
}

/** The entries of a SQLite database, after SQLite's own checks of it. */
export function readSqlite(dataDir: string): RawEntry[] {
  const database = new DatabaseSync(join(dataDir, "portcullis.db"), { readOnly: true });
  try {
    const found = database.prepare("PRAGMA integrity_check").all();
    assert.deepEqual(found.map((row) => Object.values(row)[0]), ["ok"]);
    return database.prepare("SELECT key, value, expires_at FROM entry").all() as unknown as RawEntry[];
  } finally {
    database.close();
  }
}

/** Holds what is written together against each other; gives how many entries of each kind there are. */
export function auditEntries(entries: readonly RawEntry[], now: number): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const keys = new Set<string>();
  const living = entries.filter((entry) => entry.expires_at === null || Number(entry.expires_at) > now)
    .map(({ key, value }) => ({ key: decodeKey(key), value: JSON.parse(value) as unknown }));
  for (const { key } of living) {
    const [family] = key;
    counts.set(family, (counts.get(family) ?? 0) + 1);
    keys.add(JSON.stringify(key));
  }
  const requireBeside = (key: readonly string[], other: readonly string[]): void =>
    assert.ok(keys.has(JSON.stringify(other)), `${key.join("/")} is there without ${other.join("/")}`);
  for (const { key, value } of living) {
    const [family, ...rest] = key;
    const record = value as Record<string, string>;
    if (family === "grant") requireBeside(key, ["subject_grant", record["subject"] ?? "", ...rest]);
    if (family === "subject_grant") requireBeside(key, ["grant", rest[1] ?? ""]);
    if (family === "unused_client") requireBeside(key, ["client", rest[1] ?? ""]);
    if (family === "current_signing_key") requireBeside(key, ["signing_key", record["kid"] ?? ""]);
  }
  return counts;
}
