/** What Deno Deploy asks of a configuration: no instance there can make it for itself, and each loses its disk. */
import type { ConfigSources } from "./find_setting.ts";
import type { ConfigProblem } from "./problem.ts";
import type { SettingValues } from "./settings.ts";

/** Reports what is absent or cannot be. */
export function requireForDeploy(
  { http: { serverUrl }, server: { workers }, storage: { masterKey }, workspace: { store } }: SettingValues,
  env: ConfigSources["env"],
  problems: ConfigProblem[],
): void {
  if (masterKey === undefined) {
    problems.push({
      field: "MASTER_KEY",
      value: "(not set)",
      hint:
        "must be set on Deno Deploy, as a secret, the same for every instance; make it with: openssl rand -base64 32",
    });
  }
  if (serverUrl === undefined) {
    const [app = "APP", organization = "ORGANIZATION"] = [env["DENO_DEPLOY_APP_SLUG"], env["DENO_DEPLOY_ORG_SLUG"]];
    problems.push({
      field: "SERVER_URL",
      value: "(not set)",
      hint:
        `must be set on Deno Deploy to the address that clients type: https://${app}.${organization}.deno.net, or the app's own domain`,
    });
  }
  if (workers > 1) {
    problems.push({
      field: "WORKERS",
      value: String(workers),
      hint: "must be 1 on Deno Deploy, which starts as many instances as it sees fit",
    });
  }
  if (store === "disk") {
    problems.push({
      field: "WORKSPACE_STORE",
      value: '"disk"',
      hint: "cannot be disk on Deno Deploy, where each instance has a disk of its own and loses it; leave it out",
    });
  }
}
