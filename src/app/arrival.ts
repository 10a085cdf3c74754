/** The checks of what lies between clients and a running server: address, port, certificate, proxy, documents. */
import type { Config } from "./config/config.ts";
import type { Clock } from "../lib/time.ts";
import { type Check, checksOf } from "./doctor_places.ts";
import { examine } from "./doctor.ts";

const partsOnTheWay = ["proxy", "registration", "certificate", "public address", "metadata"];

/** All of them; made by the server of itself. Where the wall keeps it from asking, a note says so. */
export async function examineArrival(
  config: Config,
  { serverUrl, clock }: { readonly serverUrl: string; readonly clock: Clock },
): Promise<readonly Check[]> {
  const { hostname, port, protocol } = new URL(serverUrl);
  const host = `${hostname}:${port === "" ? (protocol === "https:" ? 443 : 80) : port}`;
  const mayAsk = Deno.permissions.querySync({ name: "net", host }).state === "granted";
  const parts = mayAsk
    ? partsOnTheWay
    : partsOnTheWay.filter((name) => name !== "public address" && name !== "metadata");
  const checks = await Array.fromAsync(examine(config, clock, { parts, serverUrl }));
  if (mayAsk) return checks;
  const text = `the server's own permissions keep it from asking ${serverUrl}`;
  return [...checks, checksOf("public address").note(text, "run `portcullis doctor` on this machine")];
}
