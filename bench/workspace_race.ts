/**
 * How often a local process that keeps swapping directories and files for links gets bytes or names from outside
 * through the workspace, or a file outside changed: `deno run -A bench/workspace_race.ts [MILLISECONDS] [MODE] [PAUSE] [WAY] [WORKSPACES]`,
 * a line of JSON for each operation. Beside it the same without checks. PAUSE is in microseconds between two renames;
 * WAY is `reversed` for the file before the directory; WORKSPACES is `per-user` for a workspace below the directory.
 *
 * Modes, of which those run that the machine allows: `portable`, where the checks make it rare and not impossible;
 * `kernel`, where names are resolved by openat2; `own_mount`, where the workspace is a file system of its own. All but the
 * first claim to be race-free.
 */
import process from "node:process";
import { fileURLToPath } from "node:url";
import { confineRoots } from "../src/lib/kernel/descriptor.ts";
import { loadKernel } from "../src/lib/kernel/kernel.ts";
import { type Attempt, measureRaces } from "./race_attempts.ts";
import { swapUntilKilled } from "./race_swapper.ts";

const modes = ["portable", "kernel", "own_mount"] as const;
type Mode = typeof modes[number];

const self = fileURLToPath(import.meta.url);
const runSelf = ["run", "-A", "--no-check", self];
const [first = "2000", ...rest] = Deno.args;
/** Those of the command line, in the order in which they are passed on. */
interface Variant {
  readonly pause: string;
  readonly way: string;
  readonly workspaces: string;
}
const variantOf = ([pause = "0", way = "", workspaces = ""]: readonly string[]): Variant => ({
  pause,
  way,
  workspaces,
});
const argsOf = ({ pause, way, workspaces }: Variant): string[] => [pause, way, workspaces];
const rootOf = (base: string, { workspaces }: Variant): string =>
  workspaces === "per-user" ? `${base}/ws/user` : `${base}/ws`;

switch (first) {
  case "swap":
    swapUntilKilled(rest[0] ?? "", { pauseUs: Number(rest[1] ?? 0), reversed: rest[2] === "reversed" });
    break;
  case "scene":
    await runScene(rest[0] ?? "", Number(rest[1]), rest[2] as Mode, variantOf(rest.slice(3)));
    break;
  case "measure":
    await measure(rest[0] ?? "", Number(rest[1]), rest[2] as Mode, variantOf(rest.slice(3)));
    break;
  default:
    for (const mode of modes) {
      if (rest[0] === undefined || rest[0] === mode) await runMode(mode, first, variantOf(rest.slice(1)));
    }
}

async function runMode(mode: Mode, milliseconds: string, variant: Variant): Promise<void> {
  if (mode === "kernel" && !loadKernel().available) return;
  const base = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "portcullis-race-" }));
  try {
    Deno.mkdirSync(`${base}/ws`);
    const scene = [...runSelf, "scene", base, milliseconds, mode, ...argsOf(variant)];
    const mount = 'mount -t tmpfs none "$1/ws" && shift && exec "$@"';
    const [command = "", ...args] = mode === "own_mount"
      ? ["unshare", process.getuid?.() === 0 ? "-m" : "-Urm", "sh", "-c", mount, "sh", base, Deno.execPath(), ...scene]
      : [Deno.execPath(), ...scene];
    const { success } = await new Deno.Command(command, { args, stdout: "inherit", stderr: "inherit" }).output();
    if (!success) process.stderr.write(`${mode}: not possible here\n`);
  } finally {
    Deno.removeSync(base, { recursive: true });
  }
}

/** Makes the scene in `base`, where others swap and this measures. */
async function runScene(base: string, milliseconds: number, mode: Mode, variant: Variant): Promise<void> {
  const root = rootOf(base, variant);
  for (const directory of [`${root}/d`, `${base}/outside`]) Deno.mkdirSync(directory, { recursive: true });
  for (const name of ["d/f", "g"]) Deno.writeTextFileSync(`${root}/${name}`, "inside");
  for (const name of ["f", "SECRET-NAME"]) Deno.writeTextFileSync(`${base}/outside/${name}`, "SECRET");
  const up = variant.workspaces === "per-user" ? "../.." : "..";
  Deno.symlinkSync(`${up}/outside`, `${root}/link`);
  Deno.symlinkSync(`${up}/outside/f`, `${root}/file-link`);
  const swapper = new Deno.Command(Deno.execPath(), { args: [...runSelf, "swap", root, ...argsOf(variant)] }).spawn();
  try {
    const args = [
      ...runSelf,
      "measure",
      base,
      `${milliseconds}`,
      mode,
      ...argsOf(variant),
    ];
    const measuring = new Deno.Command(Deno.execPath(), { args, stdout: "inherit", stderr: "inherit" });
    const { code } = await measuring.output();
    process.exitCode = code;
  } finally {
    swapper.kill("SIGKILL");
    await swapper.status;
  }
}

async function measure(base: string, milliseconds: number, mode: Mode, variant: Variant): Promise<void> {
  const kernel = mode === "kernel" ? loadKernel() : null;
  const confined = kernel?.available ? { kernel: confineRoots(kernel.roots, [`${base}/ws`]) } : {};
  const scene = { root: rootOf(base, variant), ...confined };
  await measureRaces(base, milliseconds, scene, tell);
}

function tell(attempt: Attempt): void {
  process.stdout.write(`${JSON.stringify({ mode: rest[2], ...variantOf(rest.slice(3)), ...attempt })}\n`);
}
