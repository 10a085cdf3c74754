import { systemClock } from "../../src/lib/time.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { createStoreKeys } from "../../src/files/store/store.ts";
import { openStoreWorkspace } from "../../src/files/store/store_workspace.ts";
import { type OpenWorkspace, testWorkspaceContract } from "./contract.ts";
import { testTrashContract } from "./trash_contract.ts";

const open: OpenWorkspace = (settings) => {
  const directory = Deno.makeTempDirSync({ prefix: "portcullis-" });
  const storage = openSqliteStorage({ path: `${directory}/store.sqlite`, clock: systemClock });
  const workspace = openStoreWorkspace({ storage, name: "shared", ...settings });
  return Promise.resolve({
    workspace,
    async rename(name, to) {
      const keyOf = (entry: string) => createStoreKeys("shared").entry("root", entry);
      const stored = await storage.get(keyOf(name));
      await storage.commit({ puts: [{ key: keyOf(to), value: stored?.value }], deletes: [keyOf(name)] });
    },
    async dispose() {
      await workspace.close();
      await storage.close();
      Deno.removeSync(directory, { recursive: true });
    },
  });
};

testWorkspaceContract("store-backed workspace", open);
testTrashContract("store-backed workspace", open);
