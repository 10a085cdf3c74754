/** Whether the server's address can be listened on, or who listens there. */
import type { Config } from "./config/config.ts";
import { askHealth, healthTimeoutMs } from "../lib/ask_health.ts";
import { parseJson } from "../lib/json.ts";
import { faultWords, systemCode } from "../lib/system_fault.ts";
import { type Check, checksOf } from "./check.ts";

const { well, warning, broken } = checksOf("port");

/** Listens for a moment; where that is taken, asks who is there. */
export async function* examinePort({ host, port, tls }: Config["http"]): AsyncGenerator<Check> {
  yield await portCheck(host, port, tls !== undefined);
}

async function portCheck(host: string, port: number, usesTls: boolean): Promise<Check> {
  const place = `${host} port ${port}`;
  try {
    Deno.listen({ hostname: host.replace(/^\[|\]$/g, ""), port }).close();
    return well(port === 0 ? `${host}, any port` : `${place} is free: no server runs there`);
  } catch (error) {
    const remedy = "choose another with --port or --host";
    if (systemCode(error) !== "EADDRINUSE") {
      return broken(`${place} cannot be listened on: ${faultWords(error)}`, remedy);
    }
  }
  const health = await askHealth({ host, port, usesTls, signal: AbortSignal.timeout(healthTimeoutMs) });
  if (typeof health !== "string" && isHealth(health.body)) {
    return health.status === 200
      ? well(`a Portcullis server answers on ${place}`)
      : warning(`the Portcullis server on ${place} is not well (status ${health.status})`, "see its log");
  }
  return broken(`another program listens on ${place}`, "end it, or choose another address with --port or --host");
}

function isHealth(body: string): boolean {
  const parsed = parseJson(body);
  return typeof parsed === "object" && parsed !== null && "status" in parsed && "version" in parsed &&
    "storage" in parsed;
}
