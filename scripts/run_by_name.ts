/**
 * The programs behind `deno task bench [NAME]`, `deno task soak [NAME]` and `deno task release VERSION`: runs the one that is
 * named, with the arguments that follow, and ends as it does. The entry `""` is for no name, a flag or a version.
 */
import { fileURLToPath } from "node:url";
import process from "node:process";

const root = fileURLToPath(new URL("../", import.meta.url));
const ofTests: readonly string[] = ["--config", "deno.dev.json"];

/** The file and the flags of each program, by task and name. */
export const programs: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  bench: {
    "": ["bench/run.ts"],
    audit: [...ofTests, "bench/audit_bench.ts"],
    console: [...ofTests, "bench/console_bench.ts"],
    desk: [...ofTests, "bench/desk_bench.ts"],
    documents: [...ofTests, "bench/documents_bench.ts"],
    growth: [...ofTests, "bench/growth_bench.ts"],
    oauth: ["bench/oauth.ts"],
    ollama: [...ofTests, "bench/ollama_bench.ts"],
    peers: ["bench/peers.ts"],
    race: ["bench/workspace_race.ts"],
    "race-long": ["bench/workspace_race_long.ts"],
    search: [...ofTests, "bench/search_bench.ts"],
    start: ["bench/start_bench.ts"],
    storage: ["bench/storage_bench.ts"],
    streams: ["bench/streams_bench.ts"],
    tokens: [...ofTests, "bench/tokens_bench.ts"],
    workspace: [...ofTests, "bench/workspace_bench.ts"],
  },
  soak: {
    "": [...ofTests, "tests/soak/soak.ts"],
    fleet: [...ofTests, "tests/simulated_fleet/soak_fleet.ts"],
    hostile: [...ofTests, "tests/hostile_load/hostile_load.ts"],
  },
  release: {
    "": ["scripts/release/release.ts"],
    "base-binary": ["scripts/fetch_base_binary.ts"],
    notices: ["scripts/release/notices.ts"],
  },
};

/** What `deno run` is given for a task's arguments; `null` where no program is named. */
export function commandOf(task: string, args: readonly string[]): readonly string[] | null {
  const named = programs[task] ?? {};
  const [first = "", ...rest] = args;
  const isNamed = first !== "" && Object.hasOwn(named, first);
  if (!isNamed && !/^(?:$|-|\d)/.test(first)) return null;
  const program = named[isNamed ? first : ""];
  return program === undefined ? null : ["run", "--allow-all", ...program, ...(isNamed ? rest : args)];
}

if (import.meta.main) {
  const [task = "", ...args] = Deno.args;
  const command = commandOf(task, args);
  if (command === null) {
    const names = Object.keys(programs[task] ?? {}).filter((name) => name !== "");
    process.stderr.write(`error: deno task ${task} takes one of: ${names.join(", ")}\n`);
    process.exit(2);
  }
  // Ctrl-C reaches the program too, which may have to tidy up before it ends.
  Deno.addSignalListener("SIGINT", () => {});
  const { code } = await new Deno.Command(Deno.execPath(), { args: [...command], cwd: root }).spawn().status;
  process.exit(code);
}
