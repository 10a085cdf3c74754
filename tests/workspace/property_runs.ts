/**
 * How the properties of the workspace are tried: 1,000 cases each, or as many as PROPERTY_RUNS says, in memory where
 * the machine has a file system for that. The seed is printed; PROPERTY_SEED repeats a run.
 */
import process from "node:process";
import fc from "fast-check";

/** How many cases a property is tried with. */
export const propertyRuns = Number(Deno.env.get("PROPERTY_RUNS") ?? 1_000);

/** Tries the property, and says on standard output with how many cases and which seed. */
export async function checkProperty<T>(
  name: string,
  property: fc.IRawProperty<T>,
): Promise<void> {
  const seed = Number(Deno.env.get("PROPERTY_SEED") ?? Math.floor(Math.random() * 2 ** 31));
  await fc.assert(property, { numRuns: propertyRuns, seed });
  process.stdout.write(`${name}: ${propertyRuns} cases, seed ${seed}\n`);
}

/** Where directories cost no disk: Linux's file system in memory if it may be written, else the usual place. */
export function quickDirectory(): string {
  const directory = Deno.makeTempDirSync({
    prefix: "portcullis-",
    ...isWritable("/dev/shm") ? { dir: "/dev/shm" } : {},
  });
  return Deno.realPathSync(directory);
}

function isWritable(directory: string): boolean {
  try {
    Deno.removeSync(Deno.makeTempDirSync({ dir: directory }));
    return true;
  } catch {
    return false; // not there, or not for us
  }
}
