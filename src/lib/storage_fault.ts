/** Faults of what is stored, in words for an operator: a transport tells its callers less. */
import type * as z from "zod";
import { UnusableError } from "./problem.ts";

const unreadableRemedy =
  "a newer version wrote it, or the database is damaged: run the newest version, or restore a backup";

/** A fault of what is stored. It may name files, hosts and families of records, but no stored value. */
export class StorageFault extends UnusableError {
  override readonly name: string = "StorageFault";
}

/** What a stored text says. Throws {@link StorageFault} where it is not JSON, without showing it. */
export function parseStoredJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new StorageFault("a stored record cannot be read: it is not JSON", unreadableRemedy);
  }
}

/** A value from the storage, as its schema has it. Throws {@link StorageFault} for anything else; `what` names its kind. */
export function parseStored<Schema extends z.ZodType>(schema: Schema, value: unknown, what: string): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? "" : ` at ${issue.path.map(String).join(".")}`;
  throw new StorageFault(
    `a stored record (${what}) cannot be read: ${issue?.code ?? "invalid"}${where}`,
    unreadableRemedy,
  );
}
