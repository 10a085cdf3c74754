/** How the workspace is confined, as the start says it: by the kernel, or by checks where the system has no such call. */
import assert from "node:assert/strict";
import { libraryFlag } from "../../src/lib/start_flags.ts";
import { whereKernelConfines } from "../fixtures/confining_kernel.ts";
import { makeServerPlace, serverFlags, startServer } from "../fixtures/running_server.ts";
import { hasProgram, skippedUnless } from "../fixtures/skipped_unless.ts";
import { call, createToken } from "./call.ts";

const withoutLibrary = serverFlags.filter((flag) => flag !== libraryFlag);
const refusing = (call: string): readonly string[] => {
  const filter = ["-e", `trace=${call}`, "-e", `inject=${call}:error=EPERM`];
  return ["strace", "-D", "-f", "-qq", "-o", "/dev/null", ...filter];
};
const [hasKernel] = whereKernelConfines;
const whereRefused: readonly [boolean, string] = [
  hasKernel && hasProgram("strace"),
  "there is no strace, or no openat2",
];

interface Start {
  readonly flags: readonly string[];
  readonly launcher?: readonly string[];
  readonly said: RegExp;
  /** Whether it can be tried, and what to say where it cannot. */
  readonly where?: readonly [boolean, string];
}

const starts: Readonly<Record<string, Start>> = {
  "with the permission, the kernel confines it": {
    flags: serverFlags,
    said: /"by":"kernel"/,
    where: whereKernelConfines,
  },
  "without the permission, paths are checked": {
    flags: withoutLibrary,
    said: hasKernel ? /"by":"checks","because":"foreign functions are not permitted/ : /"by":"checks"/,
  },
  "where the system refuses openat2, paths are checked": {
    flags: serverFlags,
    launcher: refusing("openat2"),
    said: /"by":"checks","because":"the system refuses openat2 \(EPERM\)/,
    where: whereRefused,
  },
  "where it refuses statx, paths are checked": {
    flags: serverFlags,
    launcher: refusing("statx"),
    said: /"by":"checks","because":"the system refuses statx \(EPERM\)/,
    where: whereRefused,
  },
  "where it refuses renameat2, the kernel confines it": {
    flags: serverFlags,
    launcher: refusing("renameat2"),
    said: /"by":"kernel"/,
    where: whereRefused,
  },
};

for (const [what, { flags, launcher, said, where: [canRun, why] = [true, ""] }] of Object.entries(starts)) {
  Deno.test({
    ...skippedUnless(canRun, why, `the start says how the workspace is confined, and the file tools work: ${what}`),
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
