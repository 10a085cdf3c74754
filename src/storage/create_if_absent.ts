/** Makes a database's file before the database does, so that no other user can ever read it. */

/**
 * Makes an empty file of mode 0600 where there is none. Never opens one that is there: closing any descriptor of a file
 * drops all the locks that this process holds on it (fcntl(2)), those of SQLite in other threads among them
 * (sqlite.org/howtocorrupt.html §2.2). Throws `EISDIR` for a directory.
 */
export function createIfAbsent(path: string): void {
  try {
    Deno.openSync(path, { write: true, createNew: true, mode: 0o600 }).close();
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    if (Deno.statSync(path).isDirectory) throw Object.assign(new Error("It is a directory"), { code: "EISDIR" });
  }
}
