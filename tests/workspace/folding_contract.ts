/** The contract on a file system that finds entries by other spellings: run where WORKSPACE_DIR is mounted as one. */
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import { testWorkspaceContract } from "./contract.ts";
import { diskModes } from "./disk_modes.ts";

const base = Deno.env.get("WORKSPACE_DIR");
if (base === undefined) throw new Error("WORKSPACE_DIR is not set");
let opened = 0;

for (const { name, kernel } of diskModes) {
  testWorkspaceContract(`folding disk workspace, ${name}`, (settings) => {
    const root = `${base}/Workspace${++opened}`;
    const workspace = openDiskWorkspace({ root, kernel, ...settings });
    return Promise.resolve({
      workspace,
      rename: (from, to) => Deno.rename(`${root}/${from}`, `${root}/${to}`),
      async dispose() {
        await workspace.close();
        Deno.removeSync(root, { recursive: true });
      },
    });
  });
}
