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
  { path: "tests/ship/forms_test.ts", seconds: 70, why: "the core of the end-to-end suite on every form" },
  { path: "tests/browser/", seconds: 10, why: "Chromium, some minutes of it" },
  { path: "tests/ship/release_dry_run_test.ts", seconds: 60, why: "makes, publishes and installs a release" },
  { path: "tests/workspace/kill_test.ts", seconds: 42, why: "kills 300 writers" },
  { path: "tests/servicenow/jobs/", seconds: 32, why: "a load of forty jobs of a service desk" },
  { path: "tests/end_to_end/hostile_cases_test.ts", seconds: 30, why: "hostile calls of every kind" },
  { path: "tests/workspace/disk_confinement_test.ts", seconds: 25, why: "3,000 cases of each property" },
  { path: "tests/simulated_fleet/", seconds: 22, why: "a fleet, many seeds" },
  { path: "tests/servicenow/injections/", seconds: 10, why: "every injection in every place" },
  { path: "tests/connections/told_apart_test.ts", seconds: 19, why: "every fault beside every other one" },
  { path: "tests/sandbox/race_test.ts", seconds: 18, why: "a racing writer" },
  { path: "tests/workspace/kill_trash_test.ts", seconds: 14, why: "kills writers before each step" },
  { path: "tests/end_to_end/agent_jobs_test.ts", seconds: 13, why: "a load of an agent's jobs" },
  { path: "tests/connections/server_faults_test.ts", seconds: 13, why: "a server for each fault" },
  { path: "tests/connections/faults_test.ts", seconds: 12, why: "a server for each fault" },
  {
    path: "tests/connections/held_out_faults_test.ts",
    seconds: 12,
    why: "fifty faults, waited for until they are judged",
  },
  { path: "tests/workspace/model_test.ts", seconds: 12, why: "3,000 cases of each property" },
  {
    path: "tests/ship/every_command_test.ts",
    seconds: 11,
    why: "every command in the bundle and in the compiled program",
  },
  { path: "tests/authorization_server/descriptors_test.ts", seconds: 10, why: "a thousand failures of each kind" },
  { path: "tests/end_to_end/fleet_test.ts", seconds: 10, why: "a fleet" },
  { path: "tests/ship/compile_test.ts", seconds: 9, why: "compiles the program" },
  { path: "tests/ship/compiled_wall_test.ts", seconds: 9, why: "compiles the program" },
  { path: "tests/servicenow/many_people_test.ts", seconds: 9, why: "a load of a thousand calls" },
  { path: "tests/fleet/", seconds: 7, why: "a fleet" },
  { path: "tests/soak/", seconds: 6, why: "a soak in small" },
  { path: "tests/deploy/", seconds: 6, why: "instances that start, stop and are killed" },
  { path: "tests/console/two_instances_test.ts", seconds: 6, why: "a fleet" },
  { path: "tests/end_to_end/below_a_path_test.ts", seconds: 5, why: "nginx and Caddy, each in two ways" },
  { path: "tests/end_to_end/standard_streams_test.ts", seconds: 7, why: "calls until every pipe is full" },
  { path: "tests/end_to_end/extreme_workspaces_test.ts", seconds: 6, why: "100,000 files, and paths of 8,000 bytes" },
  { path: "tests/workspace/one_winner_test.ts", seconds: 6, why: "racing writers in many orders" },
  { path: "tests/end_to_end/open_descriptors_test.ts", seconds: 5, why: "every call, many rounds" },
  { path: "tests/connections/start_faults_test.ts", seconds: 5, why: "a start for each fault" },
  { path: "tests/connections/proxy_faults_test.ts", seconds: 4, why: "a proxy for each fault" },
  { path: "tests/end_to_end/kill_test.ts", seconds: 4, why: "kills a server" },
  {
    path: "tests/public_domain/",
    seconds: 15,
    why: "Pebble, and a certificate that is waited for until it is renewed",
  },
  { path: "tests/hostile_load/", seconds: 15, why: "a load, and times are compared", alone: true },
];

/** Seconds of processor time of other files that take more than two. */
export const heavyFiles: Readonly<Record<string, number>> = {
  "tests/end_to_end/doctor_test.ts": 6,
  "tests/end_to_end/resource_notices_test.ts": 6,
  "tests/company/assertion_test.ts": 5,
  "tests/end_to_end/workspace_resources_test.ts": 5,
  "tests/end_to_end/commands_test.ts": 4,
  "tests/end_to_end/servicenow_linking_test.ts": 4,
  "tests/end_to_end/stop_test.ts": 4,
  "tests/end_to_end/undo_test.ts": 4,
  "tests/storage/postgres_test.ts": 5,
  "tests/interop/sdk_story_test.ts": 5,
  "tests/workspace/hostile_cases_test.ts": 4,
  "tests/ship/installed_bundle_test.ts": 4,
  "tests/sandbox/wall_test.ts": 4,
  "tests/source_rules_test.ts": 3,
  "tests/end_to_end/full_disk_test.ts": 3,
  "tests/end_to_end/telemetry_test.ts": 3,
  "tests/end_to_end/way_on_test.ts": 3,
  "tests/workspace/resolution_test.ts": 3,
};
