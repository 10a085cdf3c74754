/** Checks a {@link Batch} against the limits and brings it into the form that drivers work with. */
import { type Batch, encodeKey, encodeKeyToRead, isOver, type StorageKey, storageLimits } from "./port.ts";

/** A put whose value has become JSON. */
interface PreparedPut {
  readonly key: StorageKey;
  readonly keyText: string;
  readonly json: string;
  /** Whole milliseconds since the epoch; `null`: the entry stays. */
  readonly expiresAt: number | null;
}

/** A batch in which each key is written once. */
interface PreparedBatch {
  readonly checks: readonly { readonly key: StorageKey; readonly keyText: string; readonly version: string | null }[];
  readonly puts: readonly PreparedPut[];
  readonly deletes: readonly { readonly key: StorageKey; readonly keyText: string }[];
  /** A check can never hold: it wants a version of a key under which nothing can be stored. */
  readonly impossible: boolean;
}

/** Throws `TypeError` for what is not JSON or not a key, `RangeError` for what is over a limit; both before any write. */
export function prepareBatch(batch: Batch): PreparedBatch {
  const checks: { key: StorageKey; keyText: string; version: string | null }[] = [];
  let impossible = false;
  for (const { key, version } of batch.checks ?? []) {
    const keyText = encodeKeyToRead(key);
    if (keyText !== null) checks.push({ key, keyText, version });
    else if (version !== null) impossible = true;
  }
  const puts = new Map<string, PreparedPut>();
  for (const { key, value, expiresAt } of batch.puts ?? []) {
    const keyText = encodeKey(key);
    puts.set(keyText, { key, keyText, json: toJson(value), expiresAt: wholeMs(expiresAt) });
  }
  const deletes = new Map<string, { key: StorageKey; keyText: string }>();
  for (const key of batch.deletes ?? []) {
    const keyText = encodeKeyToRead(key);
    if (keyText === null) continue;
    puts.delete(keyText); // the port: deletes come after puts
    deletes.set(keyText, { key, keyText });
  }
  const prepared = { checks, puts: [...puts.values()], deletes: [...deletes.values()], impossible };
  requireWithinLimits(prepared);
  return prepared;
}

function toJson(value: unknown): string {
  const json: string | undefined = JSON.stringify(value); // throws TypeError for cycles and bigint
  if (json === undefined) throw new TypeError("A stored value is JSON: neither undefined nor a function");
  if (isOver(json, storageLimits.valueBytes)) {
    throw new RangeError(`A stored value has at most ${storageLimits.valueBytes} bytes as JSON`);
  }
  return json;
}

function wholeMs(expiresAt: number | undefined): number | null {
  if (expiresAt === undefined) return null;
  const whole = Math.ceil(expiresAt);
  if (!Number.isSafeInteger(whole)) throw new TypeError("expiresAt is a time in milliseconds since the epoch");
  return whole;
}

function requireWithinLimits({ checks, puts, deletes }: Omit<PreparedBatch, "impossible">): void {
  const refuse = (what: string, size: number, limit: number): never => {
    throw new RangeError(`A batch has at most ${limit} ${what}; this one has ${size}`);
  };
  const { checks: maxChecks, writes: maxWrites, batchKeyBytes, batchValueBytes } = storageLimits;
  if (checks.length > maxChecks) refuse("checks", checks.length, maxChecks);
  const writes = puts.length + deletes.length;
  if (writes > maxWrites) refuse("writes", writes, maxWrites);
  const keys = [...checks, ...puts, ...deletes].map(({ keyText }) => keyText).join("");
  if (isOver(keys, batchKeyBytes)) refuse("bytes of keys", Buffer.byteLength(keys), batchKeyBytes);
  const values = puts.map(({ json }) => json).join("");
  if (isOver(values, batchValueBytes)) refuse("bytes of values", Buffer.byteLength(values), batchValueBytes);
}
