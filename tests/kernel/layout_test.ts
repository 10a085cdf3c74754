/** The numbers of Linux's interface are those of the kernel's headers, on each architecture. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { type Architecture, dirent, errorNames, file, openat2, openFlags, statx } from "../../src/lib/kernel/libc.ts";
import { hasProgram, skippedUnless } from "../fixtures/skipped_unless.ts";

/** How to compile and run a program for an architecture; the other one needs a cross compiler and an emulator. */
const builds: Readonly<
  Record<Architecture, Readonly<Record<string, readonly [compiler: string, runner: string[]]>>>
> = {
  x86_64: { x86_64: ["gcc", []], aarch64: ["x86_64-linux-gnu-gcc", ["qemu-x86_64-static"]] },
  aarch64: { x86_64: ["aarch64-linux-gnu-gcc", ["qemu-aarch64-static"]], aarch64: ["gcc", []] },
};

for (const architecture of ["x86_64", "aarch64"] as const) {
  const [compiler = "", runner = []] = builds[architecture][Deno.build.arch] ?? [];
  const programs = [compiler, ...runner];
  Deno.test({
    ...skippedUnless(
      Deno.build.os === "linux" && programs.every(hasProgram),
      `there is no ${programs.join(" with ")}`,
      `the numbers and layouts for ${architecture} are those of its headers`,
    ),
    async fn() {
      const directory = await Deno.makeTempDir();
      try {
        const program = `${directory}/layout`;
        await run(compiler, ["-static", "-o", program, fileURLToPath(new URL("layout.c", import.meta.url))]);
        const [command = program, ...args] = [...runner, program];
        const printed = (await run(command, args)).trim().split("\n").sort();
        assert.deepEqual(linesOf(architecture).sort(), printed);
      } finally {
        await Deno.remove(directory, { recursive: true });
      }
    },
  });
}

function linesOf(architecture: Architecture): string[] {
  const groups = [openFlags[architecture], dirent, errorNames, file, openat2, statx];
  return groups.flatMap((group) => Object.entries(group).map(([name, value]) => `${name} ${value}`));
}

async function run(command: string, args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args: [...args] }).output();
  const decoder = new TextDecoder();
  assert.ok(success, decoder.decode(stderr));
  return decoder.decode(stdout);
}
