/**
 * A million tries and more against the workspace that the kernel confines, at five speeds, in both orders, shared and
 * for one user: `deno run -A bench/workspace_race_long.ts [TRIES]`. Ends with an error when one leads outside.
 */
import process from "node:process";
import { fileURLToPath } from "node:url";

const wanted = Number(Deno.args[0] ?? 1_000_000);
const millisecondsEach = "400";
const maxRounds = 100;
const program = fileURLToPath(new URL("workspace_race.ts", import.meta.url));
const pauses = ["0", "2", "20", "200", "2000"];
const variants = pauses.flatMap((pause) =>
  ["", "reversed"].flatMap((way) => ["shared", "per-user"].map((workspaces) => [pause, way, workspaces]))
);

interface Line {
  readonly what: string;
  readonly tries: number;
  readonly escaped: number;
}

const totals = new Map<string, { tries: number; escaped: number }>();
const triesSoFar = (): number => [...totals.values()].reduce((sum, { tries }) => sum + tries, 0);
for (let round = 1; round <= maxRounds && triesSoFar() < wanted; round++) {
  for (const variant of variants) for (const line of await race(variant)) count(line);
  process.stderr.write(`round ${round}: ${triesSoFar()} tries\n`);
}
for (const [what, { tries, escaped }] of totals) process.stdout.write(`${what}: ${escaped} of ${tries} outside\n`);
const escaped = [...totals.values()].reduce((sum, each) => sum + each.escaped, 0);
process.stdout.write(`${escaped} of ${triesSoFar()} outside\n`);
if (escaped > 0 || triesSoFar() < wanted) process.exitCode = 1;

async function race(variant: readonly string[]): Promise<readonly Line[]> {
  const args = ["run", "-A", "--no-check", program, millisecondsEach, "kernel", ...variant];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  const text = new TextDecoder().decode(stdout).trim();
  if (!success || text === "") throw new Error(new TextDecoder().decode(stderr) || "the kernel's way is not there");
  return text.split("\n").map((line) => JSON.parse(line));
}

/** The reads without checks show that somebody races, and count for nothing else. */
function count({ what, tries, escaped }: Line): void {
  if (what === "no checks: read") return;
  const before = totals.get(what) ?? { tries: 0, escaped: 0 };
  totals.set(what, { tries: before.tries + tries, escaped: before.escaped + escaped });
}
