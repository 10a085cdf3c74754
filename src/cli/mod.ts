/** The command line: `main.ts` hands over the process's arguments and ends with the status that comes back. */
export { run } from "./run.ts";
