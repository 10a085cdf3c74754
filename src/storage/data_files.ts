/** The names of the files in a data directory, and in a backup of one. */
export const dataFiles = { database: "portcullis.db", masterKey: "master.key" } as const;

const sideFiles = ["", "-wal", "-shm"] as const;

/** The files that an open database has. */
export function databaseFiles(databasePath: string): readonly string[] {
  return sideFiles.map((suffix) => `${databasePath}${suffix}`);
}

const belowFile = "/in-place";

/**
 * What may be looked at to learn whether a database's files are there, by code that may not look at the files: names
 * below them, where nothing can ever be. The answer is "not a directory" where the file is there, else "no such file".
 */
export function presencePaths(databasePath: string): readonly string[] {
  return databaseFiles(databasePath).map((path) => `${path}${belowFile}`);
}

export function isPresencePath(path: string): boolean {
  return sideFiles.some((suffix) => path.endsWith(`${dataFiles.database}${suffix}${belowFile}`));
}
