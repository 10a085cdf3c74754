/** The certificate that the server itself serves https with, read from its file as clients will see it. */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { TlsConfig } from "./config/tls.ts";
import type { Clock } from "../lib/clock.ts";
import { type Check, checksOf } from "./check.ts";

const { well, warning } = checksOf("certificate");
const renewalMs = 14 * 86_400_000;
const certificateText = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** Its dates, its names, and whether what comes between it and an authority is there. */
export function* examineCertificate(
  tls: TlsConfig | undefined,
  { serverUrl, clock }: { readonly serverUrl: string; readonly clock: Clock },
): Generator<Check> {
  if (tls === undefined) return;
  const { certificates, files: [file] } = tls;
  const chain = certificates.match(certificateText) ?? [];
  const own = new X509Certificate(chain[0] ?? "");
  const host = new URL(serverUrl).hostname.replace(/^\[|\]$/g, "");
  const ends = Date.parse(own.validTo);
  const warnings: [isSo: boolean, text: string, remedy: string][] = [
    [ends <= clock(), `has expired, on ${own.validTo}`, "renew it, and start the server again"],
    [
      ends > clock() && ends <= clock() + renewalMs,
      `expires soon, on ${own.validTo}`,
      "renew it, and start the server again",
    ],
    [Date.parse(own.validFrom) > clock(), `is not valid before ${own.validFrom}`, "set this machine's clock"],
    [
      (isIP(host) === 0 ? own.checkHost(host) : own.checkIP(host)) === undefined,
      `is not for ${host}`,
      "have one made for the name in SERVER_URL",
    ],
    [
      own.issuer === own.subject,
      "vouches for itself: clients elsewhere refuse it",
      "use one of a public authority; your own machines can be told to trust this one",
    ],
    [
      own.issuer !== own.subject && chain.length === 1,
      "comes alone: clients that do not know its issuer refuse it",
      "name the full chain in TLS_CERT_FILE (fullchain.pem, not cert.pem)",
    ],
  ];
  const found = warnings.filter(([isSo]) => isSo);
  for (const [, text, remedy] of found) yield warning(`${file} ${text}`, remedy);
  if (found.length === 0) yield well(`${file} is for ${host} until ${own.validTo}`);
}
