/** The name of the server's worker, by which the main thread tells it the directory that it may open. */

const plainName = "server";
const prefix = `${plainName} of `;

/** The name of a worker; `workspace` is the real path of the directory that the kernel confines it to. */
export function workerName(workspace: string | null): string {
  return workspace === null ? plainName : `${prefix}${workspace}`;
}

/** The directory in a worker's name, or `null`. */
export function workspaceOfWorker(name: unknown): string | null {
  return typeof name === "string" && name.startsWith(prefix) ? name.slice(prefix.length) : null;
}
