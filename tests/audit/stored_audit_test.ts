import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import type { Storage } from "../../src/storage/port.ts";
import { testStoredAudit } from "./audit_contract.ts";
import { start } from "./audit_place.ts";

async function filePlace(open: (path: string) => Promise<Storage> | Storage) {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-audit-" });
  return {
    open: async () => await open(`${directory}/store.db`),
    [Symbol.asyncDispose]: () => Deno.remove(directory, { recursive: true }),
  };
}

const clock = (): number => start;
testStoredAudit("sqlite", () => filePlace((path) => openSqliteStorage({ path, clock })));
