/** What other parts use of app once they are loaded later themselves. */
export const loadDoctor = (): Promise<typeof import("./doctor.ts")> => import("./doctor.ts");
export const loadInstallation = (): Promise<typeof import("./installation.ts")> => import("./installation.ts");
export const loadCallRecords = (): Promise<typeof import("./call_records.ts")> => import("./call_records.ts");
export const loadDoctorServicenow = (): Promise<typeof import("./doctor_servicenow.ts")> =>
  import("./doctor_servicenow.ts");
export const loadRotateMasterKey = (): Promise<typeof import("./rotate_master_key.ts")> =>
  import("./rotate_master_key.ts");
export const loadStdioApp = (): Promise<typeof import("./stdio_app.ts")> => import("./stdio_app.ts");
export const loadDeployServer = (): Promise<typeof import("./deploy_server.ts")> => import("./deploy_server.ts");
export const loadLoadWorkspaceKernel = (): Promise<typeof import("./sandbox/load_workspace_kernel.ts")> =>
  import("./sandbox/load_workspace_kernel.ts");
export const loadPermissions = (): Promise<typeof import("./sandbox/permissions.ts")> =>
  import("./sandbox/permissions.ts");
export const loadOwnerTrash = (): Promise<typeof import("./owner_trash.ts")> => import("./owner_trash.ts");
