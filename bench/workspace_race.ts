/**
 * How often a local process that keeps swapping directories and files for links gets bytes or names from outside
 * through the workspace, or a file outside changed: `deno run -A bench/workspace_race.ts [MILLISECONDS] [MODE]`, a line
 * of JSON for each operation. Beside it the same without checks.
 *
 * Modes, of which those run that the machine allows: `portable`, where the checks make it rare and not impossible;
 * `own_mount`, where the workspace is a file system of its own; `landlock`, as `harden` starts the server. The last two
 * claim to be race-free.
 */
import process from "node:process";
import { landlockVersion, leastLandlockVersion, restrictFiles } from "../src/sandbox/landlock.ts";
import { becomeProgram, loadLibc } from "../src/sandbox/libc.ts";
import { type Attempt, measureRaces } from "./race_attempts.ts";
import { swapUntilKilled } from "./race_swapper.ts";

const modes = ["portable", "own_mount", "landlock"] as const;
type Mode = typeof modes[number];

const self = new URL(import.meta.url).pathname;
const runSelf = ["run", "-A", "--no-check", self];
const [first = "2000", ...rest] = Deno.args;

switch (first) {
  case "swap":
    swapUntilKilled(rest[0] ?? "");
    break;
  case "scene":
    await runScene(rest[0] ?? "", Number(rest[1]), rest[2] as Mode);
    break;
  case "landlocked":
    becomeLandlocked(rest);
    break;
  case "measure":
    await measureRaces(rest[0] ?? "", Number(rest[1]), rest[2] === "landlock", tell);
    break;
  default:
    for (const mode of modes) if (rest[0] === undefined || rest[0] === mode) await runMode(mode, first);
}

async function runMode(mode: Mode, milliseconds: string): Promise<void> {
  if (mode === "landlock" && (Deno.build.os !== "linux" || landlockVersion(loadLibc()) < leastLandlockVersion)) return;
  const base = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "portcullis-race-" }));
  try {
    Deno.mkdirSync(`${base}/ws`);
    const scene = [...runSelf, "scene", base, milliseconds, mode];
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
async function runScene(base: string, milliseconds: number, mode: Mode): Promise<void> {
  const root = `${base}/ws`;
  for (const directory of [`${root}/d`, `${base}/outside`]) Deno.mkdirSync(directory);
  for (const name of ["d/f", "g"]) Deno.writeTextFileSync(`${root}/${name}`, "inside");
  for (const name of ["f", "SECRET-NAME"]) Deno.writeTextFileSync(`${base}/outside/${name}`, "SECRET");
  Deno.symlinkSync("../outside", `${root}/link`);
  Deno.symlinkSync("../outside/f", `${root}/file-link`);
  const swapper = new Deno.Command(Deno.execPath(), { args: [...runSelf, "swap", root] }).spawn();
  try {
    const args = [
      ...runSelf,
      ...mode === "landlock" ? ["landlocked", mode] : ["measure"],
      base,
      `${milliseconds}`,
      mode,
    ];
    const measuring = new Deno.Command(Deno.execPath(), { args, stdout: "inherit", stderr: "inherit" });
    const { code } = await measuring.output();
    process.exitCode = code;
  } finally {
    swapper.kill("SIGKILL");
    await swapper.status;
  }
}

/** Becomes the measuring process, from which the kernel keeps everything but the workspace and the program. */
function becomeLandlocked([, base = "", milliseconds = "", mode = ""]: readonly string[]): void {
  const libc = loadLibc();
  const read = ["/lib", "/lib64", "/usr/lib", "/usr/local/lib", "/etc/ld.so.cache", "/proc", "/sys", "/dev/urandom"];
  restrictFiles(libc, [
    ...read.map((path) => ({ path, use: "execute" as const })),
    { path: Deno.execPath(), use: "execute" },
    { path: new URL("..", import.meta.url).pathname, use: "read" },
    { path: "/dev/null", use: "change" },
    { path: `${base}/ws`, use: "change" },
  ]);
  becomeProgram(libc, Deno.execPath(), [...runSelf, "measure", base, milliseconds, mode]);
}

function tell(attempt: Attempt): void {
  process.stdout.write(`${JSON.stringify({ mode: rest[2], ...attempt })}\n`);
}
