/** Starts {@link ./storage_process.ts}. */
import { fileURLToPath } from "node:url";
import { until } from "../fixtures/until.ts";

/** Driver and location, as storage_process.ts takes them. */
export type StorageLocation = readonly [driver: string, location: string];

/** A running process; `lines` are the complete lines of its standard output, once it has ended. */
export interface StorageProcess {
  readonly lines: Promise<readonly string[]>;
  /** SIGKILL: no handler of the process runs. */
  readonly kill: () => void;
  /** Resolves once the process has printed something. */
  readonly started: Promise<void>;
  /** Resolves once the process has printed so many lines, or has ended. */
  readonly printed: (lines: number) => Promise<void>;
}

const program = fileURLToPath(new URL("./storage_process.ts", import.meta.url));

/** `limitKibibytes` bounds the size of every file that the process writes. */
export function startStorageProcess(
  location: StorageLocation,
  task: string,
  options: { readonly word?: string; readonly limitKibibytes?: number } = {},
): StorageProcess {
  const { word = "", limitKibibytes } = options;
  const command = [Deno.execPath(), "run", "--allow-all", "--no-check", program, ...location, task, word];
  const [first = "", ...args] = limitKibibytes === undefined
    ? command
    : ["sh", "-c", `trap '' XFSZ; ulimit -f ${2 * limitKibibytes}; exec "$@"`, "sh", ...command];
  const child = new Deno.Command(first, { args, stdin: "null", stdout: "piped", stderr: "inherit" }).spawn();
  const { promise: started, resolve: start } = Promise.withResolvers<void>();
  let text = "";
  let ended = false;
  const collect = async (): Promise<readonly string[]> => {
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += piece;
      start();
    }
    await child.status;
    ended = true;
    start();
    return text.split("\n").slice(0, -1);
  };
  const printed = async (lines: number): Promise<void> => {
    await until(`${lines} lines of a process`, () => ended || text.split("\n").length > lines);
  };
  return { lines: collect(), started, printed, kill: () => child.kill("SIGKILL") };
}
