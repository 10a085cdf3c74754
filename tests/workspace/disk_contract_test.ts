import { openDiskWorkspace } from "../../src/workspace/disk/disk_workspace.ts";
import { makeConfinedBase } from "./confined_base.ts";
import { testWorkspaceContract } from "./contract.ts";

testWorkspaceContract("disk workspace", (settings) => {
  const scene = makeConfinedBase();
  const workspace = openDiskWorkspace({ root: scene.root, ...settings });
  return Promise.resolve({
    workspace,
    async dispose() {
      await workspace.close();
      scene.remove();
    },
  });
});
