/** What the gate knows of single test files: which take long and why, and roughly how much processor time the others take. */

/** A file, or a folder with its last slash, that the gate's second part runs. */
export interface LongFile {
  readonly path: string;
  /** Of processor time, for the time that is left. */
  readonly seconds: number;
  readonly why: string;
  /** Nothing runs beside it. */
  readonly alone?: boolean;
}

export const longFiles: readonly LongFile[] = [
  { path: "tests/ship/forms_test.ts", seconds: 90, why: "the core of the end-to-end suite on every form" },
  {
    path: "tests/ship/every_command_test.ts",
    seconds: 30,
    why: "every command in the bundle and in the compiled program",
  },
  { path: "tests/ship/compile_test.ts", seconds: 20, why: "compiles the program" },
  { path: "tests/ship/compiled_wall_test.ts", seconds: 15, why: "compiles the program" },
  { path: "tests/workspace/kill_test.ts", seconds: 60, why: "kills 300 writers" },
  { path: "tests/workspace/kill_trash_test.ts", seconds: 10, why: "kills writers" },
  { path: "tests/workspace/disk_confinement_test.ts", seconds: 25, why: "3,000 cases of each property" },
  { path: "tests/simulated_fleet/", seconds: 22, why: "a fleet of many seeds" },
  { path: "tests/soak/", seconds: 15, why: "a soak in small" },
  { path: "tests/fleet/", seconds: 15, why: "a fleet" },
  { path: "tests/end_to_end/fleet_test.ts", seconds: 15, why: "a fleet" },
  { path: "tests/deploy/", seconds: 15, why: "instances that start, stop and are killed" },
  { path: "tests/console/two_instances_test.ts", seconds: 8, why: "a fleet of two on each database" },
  { path: "tests/connections/server_faults_test.ts", seconds: 12, why: "a server for each fault" },
  { path: "tests/authorization_server/descriptors_test.ts", seconds: 10, why: "a thousand failures of each kind" },
  { path: "tests/browser/console_load_test.ts", seconds: 20, why: "a day's load in Chromium" },
  { path: "tests/browser/console_acts_test.ts", seconds: 30, why: "every act of the console in Chromium" },
  { path: "tests/servicenow/many_people_test.ts", seconds: 15, why: "a load of a thousand calls" },
  {
    path: "tests/authorization_server/oracle_test.ts",
    seconds: 10,
    why: "compares how long answers take",
    alone: true,
  },
  { path: "tests/hostile_load/", seconds: 25, why: "a load, and times are compared", alone: true },
];

/** Seconds of processor time of other files that take more than two. */
export const heavyFiles: Readonly<Record<string, number>> = {};
