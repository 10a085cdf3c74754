/** What `doctor --servicenow` adds: this server as a client of the instance, and the instance as a client of this server. */
import { ownerId, users } from "../oauth/records/user.ts";
import type { Config } from "./config/config.ts";
import { systemClock } from "../lib/clock.ts";
import { faultWords } from "../lib/system_fault.ts";
import { createFetchOnce } from "../servicenow/fetch_once.ts";
import { examineInstallation } from "./installation.ts";
import { serverUrlFor } from "./server_url.ts";
import { scopesOf } from "./servicenow_wiring.ts";
import { type Check, checksOf } from "./check.ts";
import { findLinkedPerson } from "./linked_person.ts";
import { playConnection } from "./connection.ts";
import { systemSurroundings } from "./public_address.ts";
import { examineInstance } from "./servicenow_instance.ts";

const stepTimeoutMs = 5_000;

/** Asks the instance what people's calls will meet there, with the token of one who has linked an account. */
export async function* examineServicenowInstance(config: Config): AsyncGenerator<Check> {
  const serverUrl = serverUrlFor(config.http, config.http.port);
  const once = createFetchOnce(fetch);
  try {
    yield* examineInstance(config.servicenow, {
      serverUrl,
      shakeHands: systemSurroundings.shakeHands,
      fetch: once.fetch,
      async linkedPerson(transport) {
        const found = await examineInstallation(config.storage, { clock: systemClock, lookFor: users.key(ownerId) });
        if (!found.ok || found.value.kind === "absent") return null; // to open it would make it
        return await findLinkedPerson(config, { transport, serverUrl });
      },
    });
  } catch (error) {
    yield checksOf("ServiceNow").warning(`cannot be examined: ${faultWords(error)}`);
  } finally {
    once.close();
  }
}

/** Plays ServiceNow's own client against the running server, up to where a person would sign in. */
export async function* playServicenow(config: Config): AsyncGenerator<Check> {
  const { registrationToken } = config.authorizationServer;
  const steps = playConnection({
    serverUrl: serverUrlFor(config.http, config.http.port),
    instanceOrigin: config.servicenow.access?.instance ?? "https://doctor.service-now.com",
    scopes: scopesOf(config.servicenow),
    ...(registrationToken === undefined ? {} : { registrationToken }),
    fetch,
    timeoutSeconds: stepTimeoutMs / 1_000,
  });
  for await (const { name, ...step } of steps) yield { name: `ServiceNow, ${name}`, ...step };
}
