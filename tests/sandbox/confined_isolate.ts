/** A process that opens its storage, confines itself, and prints what is left. Argument: a directory. */
import { openStorage } from "../../src/storage/open_storage.ts";
import { confineThisIsolate, permissionNames } from "../../src/app/sandbox/permissions.ts";

const [directory = ""] = Deno.args;
const heldBefore = heldWhole();
const storage = await openStorage({ sqlitePath: `${directory}/portcullis.db`, clock: Date.now });
confineThisIsolate();
await storage.commit({ puts: [{ key: ["made"], value: { made: "after" } }] });
const seen = {
  heldBefore,
  heldAfter: heldWhole(),
  stored: (await storage.get(["made"]))?.value,
  swept: await storage.sweep(Date.now()),
  read: nameOf(() => Deno.readTextFileSync("/etc/passwd")),
  write: nameOf(() => Deno.writeTextFileSync(`${directory}/planted`, "")),
  run: nameOf(() => new Deno.Command(Deno.execPath()).outputSync()),
};
await storage.close();
await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(seen)));

/** The kinds of permission of which nothing was given up. */
function heldWhole(): string[] {
  return permissionNames.filter((name) => Deno.permissions.querySync({ name }).state === "granted");
}

function nameOf(step: () => unknown): string {
  try {
    step();
    return "done";
  } catch (error) {
    return error instanceof Error ? error.name : String(error);
  }
}
