/**
 * What single commands use of app beside `mod.ts`. Most of the program lies behind these, so each is loaded when a
 * command needs it: help and `healthcheck` wait for none of it.
 */
/** The names of clients, for `connections`. */
export const loadProtocolServer = () => import("./protocol_server.ts");
/** The server on Deno Deploy, which has no worker. */
export const loadDeployServer = () => import("./deploy_server.ts");
/** The checks of `doctor`. */
export const loadDoctor = () => import("./doctor.ts");
/** Opens a configuration's storage and keys for a command. */
export const loadInstallation = () => import("./installation.ts");
/** Binds the C library, for the kernel's confinement of the workspace. */
export const loadKernelBinding = () => import("../lib/kernel/kernel.ts");
/** Sends a notice for `portcullis notify test`. */
export const loadNotices = () => import("./notices.ts");
/** The trash for `portcullis trash`. */
export const loadOwnerTrash = () => import("./owner_trash.ts");
/** The server over stdio, which has no worker. */
export const loadStdioApp = () => import("./stdio_app.ts");
