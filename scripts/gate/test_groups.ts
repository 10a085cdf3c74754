/** Which test files run together in one process of `deno test`: files of one folder, a few at a time. */

/** Files that run for a quarter of a minute or more. They begin first, each in a process of its own. */
const longFiles: readonly string[] = [
  "tests/ship/forms_test.ts",
  "tests/workspace/kill_test.ts",
  "tests/workspace/disk_confinement_test.ts",
  "tests/simulated_fleet/simulated_fleet_test.ts",
  "tests/soak/soak_test.ts",
  "tests/ship/every_command_test.ts",
  "tests/console/two_instances_test.ts",
  "tests/authorization_server/descriptors_test.ts",
  "tests/connections/server_faults_test.ts",
  "tests/browser/console_test.ts",
];

/** Files that compare how long things take, or what the whole machine has left: nothing runs beside them. */
const lonelyFiles: readonly string[] = [
  "tests/authorization_server/oracle_test.ts",
  "tests/hostile_load/freezes/freezes_test.ts",
  "tests/hostile_load/growth_test.ts",
  "tests/hostile_load/hostile_load_test.ts",
];

const filesAtOnce = 8;

/** Roughly how long a file takes, for the time that is left. */
export function secondsOf(file: string): number {
  return lonelyFiles.includes(file) ? 60 : longFiles.includes(file) ? 45 : 3;
}

/** The groups of all test files: those that may run beside others, and those that may not. */
export interface TestGroups {
  readonly together: readonly (readonly string[])[];
  readonly alone: readonly (readonly string[])[];
}

/** Every test file below a directory, sorted. */
export function testFiles(directory = "tests"): string[] {
  return Array.from(Deno.readDirSync(directory)).flatMap(({ name, isDirectory }) => {
    const path = `${directory}/${name}`;
    if (isDirectory) return testFiles(path);
    return name.endsWith("_test.ts") ? [path] : [];
  }).sort();
}

/** Divides files into groups, each file into one. */
export function groupTests(files: readonly string[]): TestGroups {
  const folders = Map.groupBy(
    files.filter((file) => !longFiles.includes(file) && !lonelyFiles.includes(file)),
    (file) => file.slice(0, file.lastIndexOf("/")),
  );
  const groups = [...folders.values()].flatMap((inFolder) =>
    Array.from(
      { length: Math.ceil(inFolder.length / filesAtOnce) },
      (_, at) => inFolder.slice(at * filesAtOnce, (at + 1) * filesAtOnce),
    )
  );
  return {
    together: [...longFiles.filter((file) => files.includes(file)).map((file) => [file]), ...groups],
    alone: lonelyFiles.filter((file) => files.includes(file)).map((file) => [file]),
  };
}
