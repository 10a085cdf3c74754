/**
 * How values lie in Deno KV: bytes, which any version of Deno reads. KV writes every other value in a form of V8 that an
 * older Deno cannot read, and the platform chooses its own. Earlier versions of Portcullis wrote such values; they are
 * read where the runtime can.
 */
import { StorageFault } from "../lib/storage_fault.ts";

const unreadable = "Deno KV holds a record that a newer version of Deno wrote, in a form that this one cannot read";
const unreadableRemedy =
  "run the Deno that wrote it, or a newer one; this version of Portcullis writes no more of them";

/** The value as bytes: JSON in UTF-8. */
export function encodeValue(value: unknown): Uint8Array {
  return new Uint8Array(Buffer.from(JSON.stringify(value)));
}

/** A stored value, and one that an earlier version wrote, which is as it was. */
export function decodeValue<T>(stored: unknown): T {
  return (stored instanceof Uint8Array ? JSON.parse(Buffer.from(stored).toString()) : stored) as T;
}

/** Runs `step`, and rejects with a {@link StorageFault} where this runtime cannot read what another one wrote. */
export async function whenReadable<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    // It has no code, and no name of its own.
    if (!(error instanceof RangeError) || !error.message.includes("could not deserialize value")) throw error;
    throw new StorageFault(unreadable, unreadableRemedy, { cause: error });
  }
}
