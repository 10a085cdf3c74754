/** Telemetry at the start of a server: what it does is told, and what must not be exported is refused. */
import type { Config } from "../config/config.ts";
import type { Log } from "../lib/log/log.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { createTelemetry, type Telemetry } from "./telemetry.ts";

/** Starts it. It fails where Deno's own spans, secrets included, would be exported as they are. */
export async function startTelemetry(
  { onDeploy }: Pick<Config, "onDeploy">,
  { version, log }: { readonly version: string; readonly log: Log },
): Promise<Result<Telemetry, { readonly problem: string; readonly remedy: string }>> {
  const { leaksSecrets, ...telemetry } = await createTelemetry(version);
  if (telemetry.tracer.exports) log.write("info", "telemetry_on", {});
  if (!leaksSecrets) return success(telemetry);
  const problem = `Deno ${Deno.version.deno} exports URLs with codes and searches in them, which cannot be kept out`;
  // There, the variable cannot be set, and the spans go nowhere but to the page of the app's own owner.
  if (!onDeploy) {
    return failure({ problem, remedy: "set OTEL_DENO_TRACING=false, or run the Deno that this program is made for" });
  }
  log.write("warn", "telemetry_leaks", { problem, remedy: "let nobody but the owner see the traces" });
  return success(telemetry);
}
