/** What `doctor` and the console report about PUBLIC_DOMAIN: its certificate, its port 80, and where its name leads. */
import { type CertificateState, loadPublicCertificate } from "../http/mod.ts";
import { askHealth, doctorAgent, healthTimeoutMs } from "../lib/endpoint.ts";
import { type Check, orUnusable, UnusableError } from "../lib/result.ts";
import { randomId } from "../lib/secrets.ts";
import { withoutBrackets } from "../lib/network.ts";
import { faultWords, fetchFaultWords, systemCode } from "../lib/system_fault.ts";
import { type Clock, durationWords, systemClock } from "../lib/time.ts";
import { ownerId, users } from "../oauth/mod.ts";
import type { Storage } from "../storage/mod.ts";
import type { Config } from "./config/config.ts";
import { systemSurroundings } from "./doctor_address.ts";
import { checksOf } from "./doctor_places.ts";
import { examineInstallation, type Installation, openInstallation } from "./installation.ts";
import { portRemedy } from "./listeners.ts";

/** Says at its end whether there is a certificate to be asked for. `storage`: where the caller has it open. */
export async function* examineStoredCertificate(
  config: Config,
  name: string,
  storage?: Storage,
): AsyncGenerator<Check, boolean> {
  const state = storage === undefined
    ? await readClosedStorage(config, name)
    : await (await loadPublicCertificate()).readCertificateState(storage, name);
  return yield* judgeCertificateState(state, { name, clock: systemClock });
}

async function readClosedStorage({ storage: place }: Config, name: string): Promise<CertificateState> {
  const opened = await openExisting(place);
  if (opened === null) return { current: null, failed: null };
  try {
    return await (await loadPublicCertificate()).readCertificateState(opened.storage, name);
  } finally {
    await opened.storage.close();
  }
}

/** Opens what is there; `null` where that would make it, or move what a previous master key sealed. */
export async function openExisting(place: Config["storage"]): Promise<Installation | null> {
  const found = await orUnusable(examineInstallation(place, users.key(ownerId)));
  if (found === null || found instanceof UnusableError || place.previousMasterKey !== undefined) return null;
  const opened = await orUnusable(openInstallation(place, systemClock));
  return opened instanceof UnusableError ? null : opened;
}

export function* judgeCertificateState(
  { current, failed }: CertificateState,
  { name, clock }: { readonly name: string; readonly clock: Clock },
): Generator<Check, boolean> {
  const { well, note, warning, broken } = checksOf("certificate");
  const now = clock();
  const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);
  const next = failed === null ? "" : ` (next attempt: ${new Date(failed.retryAt).toISOString()})`;
  if (current === null) {
    yield failed === null
      ? note(`none for ${name} yet: the first start gets one`)
      : broken(`none for ${name}: ${failed.problem}`, `${failed.remedy}${next}`);
    return false;
  }
  const { from, ends } = current;
  const left = durationWords(Math.abs(ends - now) / 1_000);
  const term = ends <= now ? `expired ${left} ago` : `ends in ${left}, on ${dayOf(ends)}`;
  if (from > now) {
    yield broken(`for ${name}, not valid before ${dayOf(from)}`, "set this machine's clock");
  } else if (failed !== null) {
    const text = `for ${name}, ${term}, and cannot be renewed: ${failed.problem}`;
    yield (ends <= now ? broken : warning)(text, `${failed.remedy}${next}`);
  } else if (ends <= now) {
    yield broken(`for ${name}, ${term}`, "start the server, which renews it");
  } else {
    yield well(`for ${name}, ${term}`);
  }
  return from <= now && now < ends;
}

/** Listens for a moment. Says at its end whether something else listens there. */
export function* tryPort(
  { host, port }: { readonly host: string; readonly port: number },
  free: string,
  remedy: string,
): Generator<Check, boolean> {
  const { well, broken } = checksOf("port");
  try {
    Deno.listen({ hostname: withoutBrackets(host), port }).close();
    yield well(free);
  } catch (error) {
    if (systemCode(error) === "EADDRINUSE") return true;
    yield broken(`${host} port ${port} cannot be listened on: ${faultWords(error)}`, remedy);
  }
  return false;
}

/** HTTP_PORT on this machine: free, ours, or another program's. */
export async function* examinePlainPort(http: Config["http"]): AsyncGenerator<Check> {
  const { well, broken } = checksOf("port");
  const { host, httpPort: port } = http;
  const place = `${host} port ${port}`;
  if (!(yield* tryPort({ host, port }, `${place} is free`, portRemedy("HTTP_PORT")))) return;
  const answer = await askHealth({ host, port, usesTls: false });
  yield typeof answer !== "string" && answer.body.startsWith("This server ")
    ? well(`a Portcullis server answers on ${place}`)
    : broken(`another program listens on ${place}, which the certificate authority asks`, portRemedy("HTTP_PORT"));
}

/** Whether the name has an address. A missing one is reported with the public address. */
export function isNamed(name: string): Promise<boolean> {
  return systemSurroundings.resolve(name).then((addresses) => addresses.length > 0, () => false);
}

/** Port 80 of the name, as the certificate authority sees it. */
export async function* examineNamedPort(name: string, ask = fetch): AsyncGenerator<Check> {
  const { well, warning } = checksOf("public address");
  const url = `http://${name}/.well-known/acme-challenge/${randomId()}`;
  const signal = AbortSignal.timeout(healthTimeoutMs);
  const answer = await ask(url, { redirect: "manual", signal, headers: { "user-agent": doctorAgent } })
    .catch(fetchFaultWords);
  if (typeof answer === "string") {
    return void (yield warning(
      `port 80 of ${name} cannot be reached from here: ${answer}`,
      "open it in the firewall and the router, for the certificate authority; some routers do not lead back inside",
    ));
  }
  const isOurs = answer.status === 404 && (await answer.text()).startsWith("There is no such challenge");
  yield isOurs ? well(`port 80 of ${name} leads to this server`) : warning(
    `port 80 of ${name} leads to another server (status ${answer.status})`,
    "point the DNS records of the name (A and AAAA) to this machine: else the certificate cannot be renewed",
  );
}
