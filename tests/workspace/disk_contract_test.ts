import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import { makeConfinedBase } from "./confined_base.ts";
import { type OpenWorkspace, testWorkspaceContract } from "./contract.ts";
import { testTrashContract } from "./trash_contract.ts";
import { diskModes } from "./disk_modes.ts";

for (const { name, kernel } of diskModes) {
  const open: OpenWorkspace = (settings) => {
    const scene = makeConfinedBase();
    const workspace = openDiskWorkspace({ root: scene.root, kernel, ...settings });
    return Promise.resolve({
      workspace,
      rename: (from, to) => Deno.rename(`${scene.root}/${from}`, `${scene.root}/${to}`),
      async dispose() {
        await workspace.close();
        scene.remove();
      },
    });
  };
  testWorkspaceContract(`disk workspace, ${name}`, open);
  testTrashContract(`disk workspace, ${name}`, open);
}
