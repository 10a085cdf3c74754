/** How the workspace is confined, as the start says it: by the kernel, or by checks where the system has no such call. */
import assert from "node:assert/strict";
import { loadKernel } from "../../src/kernel/kernel.ts";
import { libraryFlag } from "../../src/kernel/library_paths.ts";
import { makeServerPlace, serverFlags, startServer } from "../fixtures/running_server.ts";
import { call, createToken } from "./call.ts";

const withoutLibrary = serverFlags.filter((flag) => flag !== libraryFlag);
const refusing = (call: string): readonly string[] => {
  const filter = ["-e", `trace=${call}`, "-e", `inject=${call}:error=EPERM`];
  return ["strace", "-D", "-f", "-qq", "-o", "/dev/null", ...filter];
};
const hasKernel = loadKernel().available;
const canRefuse = hasKernel && isThere("strace");

interface Start {
  readonly flags: readonly string[];
  readonly launcher?: readonly string[];
  readonly said: RegExp;
  readonly ignore?: boolean;
}

const starts: Readonly<Record<string, Start>> = {
  "with the permission, the kernel confines it": { flags: serverFlags, said: /"by":"kernel"/, ignore: !hasKernel },
  "without the permission, paths are checked": {
    flags: withoutLibrary,
    said: hasKernel ? /"by":"checks","because":"foreign functions are not permitted/ : /"by":"checks"/,
  },
  "where the system refuses openat2, paths are checked": {
    flags: serverFlags,
    launcher: refusing("openat2"),
    said: /"by":"checks","because":"the system refuses openat2 \(EPERM\)/,
    ignore: !canRefuse,
  },
  "where it refuses statx, paths are checked": {
    flags: serverFlags,
    launcher: refusing("statx"),
    said: /"by":"checks","because":"the system refuses statx \(EPERM\)/,
    ignore: !canRefuse,
  },
  "where it refuses renameat2, the kernel confines it": {
    flags: serverFlags,
    launcher: refusing("renameat2"),
    said: /"by":"kernel"/,
    ignore: !canRefuse,
  },
};

for (const [what, { flags, launcher, said, ignore = false }] of Object.entries(starts)) {
  Deno.test({
    name: `the start says how the workspace is confined, and the file tools work: ${what}`,
    ignore,
    async fn() {
      await using place = await makeServerPlace();
      const token = await createToken(place.dataDir, "files:read files:write");
      await using server = await startServer(place, {
        program: "main.ts",
        flags,
        ...launcher === undefined ? {} : { launcher },
        env: { PORT: "0", OLLAMA_HOST: "127.0.0.1:1" },
      });
      const line = server.stderr().split("\n").find((each) => each.includes("workspace_confinement"));
      assert.match(line ?? "", said);
      await call(server, token, "file_write", { filename: "a/b.txt", content: "kept" });
      assert.match(await call(server, token, "file_read", { filename: "a/b.txt" }), /kept/);
    },
  });
}

function isThere(command: string): boolean {
  try {
    return new Deno.Command(command, { args: ["-V"], stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}
