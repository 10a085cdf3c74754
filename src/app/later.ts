/**
 * What the commands use of app beside `mod.ts`, each loaded when a command needs it: behind these lies most of the
 * program, and help, completions and `healthcheck` wait for none of it.
 */
export const loadCallRecords = () => import("./call_records.ts");
export const loadDeployServer = () => import("./deploy_server.ts");
export const loadDoctor = () => import("./doctor.ts");
export const loadDoctorServicenow = () => import("./doctor_servicenow.ts");
export const loadInstallation = () => import("./installation.ts");
export const loadKernelBinding = () => import("./sandbox/load_workspace_kernel.ts");
export const loadOwnerTrash = () => import("./owner_trash.ts");
export const loadRotateMasterKey = () => import("./rotate_master_key.ts");
export const loadStdioApp = () => import("./stdio_app.ts");
