/** The certificate that the server itself shows: of TLS_CERT_FILE, or the one that it gets for PUBLIC_DOMAIN. */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { type CertificateState, loadPublicCertificate } from "../http/mod.ts";
import { type Check, orUnusable, UnusableError } from "../lib/result.ts";
import { withoutBrackets } from "../lib/network.ts";
import { type Clock, durationWords, systemClock } from "../lib/time.ts";
import { ownerId, users } from "../oauth/mod.ts";
import type { Storage } from "../storage/mod.ts";
import type { Config, TlsConfig } from "./config/config.ts";
import { checksOf } from "./doctor_places.ts";
import { examineInstallation, openInstallation } from "./installation.ts";

const { well, note, warning, broken } = checksOf("certificate");
const renewalMs = 14 * 86_400_000;
const certificateText = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/**
 * Its dates, its names, and whether what comes between it and an authority is there. Says at its end whether clients
 * accept it.
 */
export function* examineCertificate(
  tls: TlsConfig | undefined,
  { serverUrl, clock }: { readonly serverUrl: string; readonly clock: Clock },
): Generator<Check, boolean> {
  if (tls === undefined) return true;
  const { certificates, files: [file] } = tls;
  const chain = certificates.match(certificateText) ?? [];
  const own = new X509Certificate(chain[0] ?? "");
  const host = withoutBrackets(new URL(serverUrl).hostname);
  const left = Date.parse(own.validTo) - clock();
  const isSelfSigned = own.issuer === own.subject;
  const isForHost = (isIP(host) === 0 ? own.checkHost(host) : own.checkIP(host)) !== undefined;
  const renewal = "renew it, and start the server again";
  const faults: readonly (readonly [isSo: boolean, text: string, remedy: string])[] = [
    [left <= 0, `has expired, on ${own.validTo}`, renewal],
    [left > 0 && left <= renewalMs, `expires soon, on ${own.validTo}`, renewal],
    [Date.parse(own.validFrom) > clock(), `is not valid before ${own.validFrom}`, "set this machine's clock"],
    [!isForHost, `is not for ${host}`, "get one for the name in SERVER_URL"],
    [
      isSelfSigned,
      "is self-signed: clients elsewhere refuse it",
      "use one of a public authority; your own machines can be told to trust this one",
    ],
    [
      !isSelfSigned && chain.length === 1,
      "is sent without its chain: clients that do not know its issuer refuse it",
      "name the full chain in TLS_CERT_FILE (fullchain.pem, not cert.pem)",
    ],
  ];
  const found = faults.filter(([isSo]) => isSo);
  for (const [, text, remedy] of found) yield warning(`${file} ${text}`, remedy);
  if (found.length === 0) yield well(`${file} is for ${host} until ${own.validTo}`);
  return found.length === 0;
}

/** Says at its end whether there is a certificate to be asked for. `storage`: where the caller has it open. */
export async function* examineStoredCertificate(
  config: Config,
  name: string,
  storage?: Storage,
): AsyncGenerator<Check, boolean> {
  const { readCertificateState } = await loadPublicCertificate();
  if (storage !== undefined) return yield* judgeCertificateState(await readCertificateState(storage, name), { name });
  const opened = await openExisting(config.storage);
  try {
    const state = opened === null ? { current: null, failed: null } : await readCertificateState(opened, name);
    return yield* judgeCertificateState(state, { name });
  } finally {
    await opened?.close();
  }
}

/** Opens what is there; `null` where that would make it, or move what a previous master key sealed. */
async function openExisting(place: Config["storage"]): Promise<Storage | null> {
  const found = await orUnusable(examineInstallation(place, users.key(ownerId)));
  if (found === null || found instanceof UnusableError || place.previousMasterKey !== undefined) return null;
  const opened = await orUnusable(openInstallation(place, systemClock));
  return opened instanceof UnusableError ? null : opened.storage;
}

export function* judgeCertificateState(
  { current, failed }: CertificateState,
  { name, clock = systemClock }: { readonly name: string; readonly clock?: Clock },
): Generator<Check, boolean> {
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
