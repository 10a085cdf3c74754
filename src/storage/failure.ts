/** What SQLite's error codes mean for an operator (sqlite.org/rescode.html). */
import type { Problem } from "../lib/problem.ts";

/** SQLite's primary result codes, as far as they are told apart. */
export const sqliteCode = {
  error: 1,
  busy: 5,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
} as const;

/** What to do about a database that is lost. */
export const restoreRemedy = "stop the server, move the data directory away, and run `portcullis restore` on a backup";

/** The primary result code of what node:sqlite threw; `undefined` for any other error. */
export function sqliteCodeOf(error: unknown): number | undefined {
  const { errcode } = (error ?? {}) as { readonly errcode?: number };
  return errcode === undefined ? undefined : errcode & 0xff; // without the extension
}

/** Puts an error of the database at `path` into words. */
export function describeSqliteFailure(error: unknown, path: string): Problem {
  switch (sqliteCodeOf(error)) {
    case sqliteCode.busy:
      return {
        problem: `another process keeps ${path} locked`,
        remedy: "end what has it open: a database browser, a backup program, an open transaction",
      };
    case sqliteCode.readOnly:
      return {
        problem: `${path} cannot be written: it is read-only`,
        remedy: "mount its disk writable, and let it and its directory belong to the user who runs the server",
      };
    case sqliteCode.full:
      return { problem: `the disk of ${path} is full`, remedy: "free some space: a running server goes on by itself" };
    case sqliteCode.ioError:
    case sqliteCode.cannotOpen:
      return {
        problem: `the disk of ${path} fails: ${messageOf(error)}`,
        remedy: "check the disk, its quota and the system's log: a running server goes on by itself when it is well",
      };
    case sqliteCode.corrupt:
    case sqliteCode.notADatabase:
      return { problem: `${path} is damaged: ${messageOf(error)}`, remedy: restoreRemedy };
    default:
      return { problem: `${path} cannot be used: ${messageOf(error)}`, remedy: restoreRemedy };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
