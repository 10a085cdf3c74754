/** Permissions of the isolate that calls: which it holds, and giving them up for good. */

/** Every kind of permission that Deno knows. */
export const permissionNames = ["read", "write", "net", "env", "run", "ffi", "sys", "import"] as const;

type PermissionName = (typeof permissionNames)[number];

/**
 * Gives up whole kinds. There is no way back without a person: Deno would ask at a terminal unless it was started with
 * `--no-prompt`, as every task of ours is.
 */
export function giveUp(names: readonly PermissionName[]): void {
  for (const name of names) Deno.permissions.revokeSync({ name });
}

/**
 * Gives up reading and writing a file, or at and below a directory. Works only where a list of paths is held (under a grant of
 * everything Deno ignores it); paths below it that are on the list themselves stay.
 */
export function giveUpPath(path: string): void {
  for (const name of ["read", "write"] as const) Deno.permissions.revokeSync({ name, path });
}

/** Gives up one `host:port`; for a listed one, as above. What listens there already goes on listening. */
export function giveUpHost(host: string): void {
  Deno.permissions.revokeSync({ name: "net", host });
}

/**
 * For hosts that start the server with every permission and without a worker, such as Deno Deploy: called once the
 * storage is open and the workspace needs no disk, leaves network and environment.
 */
export function confineThisIsolate(): void {
  giveUp(["read", "write", "run", "ffi", "sys", "import"]);
}
