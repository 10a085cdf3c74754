/** What a setting is. */
import { didYouMean } from "./suggestible.ts";
import { parseIpNetwork, type TrustedProxies } from "./network.ts";
import { failure, type Result, success } from "./result.ts";

// Parsers for single settings: text in, a typed value or a hint out. Pure.

/** Gives the value, or a hint that says what would be accepted. */
export type SettingParser<T> = (text: string) => Result<T, string>;

/** Any text but the empty one. */
export function parseText(text: string): Result<string, string> {
  return text.trim() === "" ? failure("must not be empty") : success(text);
}

/** A whole number within bounds, both included. */
export function parseInteger(least: number, most: number): SettingParser<number> {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return value >= least && value <= most
      ? success(value)
      : failure(`must be a whole number from ${least} to ${most}`);
  };
}

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function durationMs(text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,10})([smhd])$/.exec(text) ?? [];
  return Number(count) * (unitMs[unit] ?? Number.NaN);
}

/** A number alone, or a time such as `90m`, in seconds; `NaN` for anything else. */
export function readSeconds(text: string): number {
  return durationMs(/^\d+$/.test(text) ? `${text}s` : text) / 1_000;
}

/** {@link readSeconds} within bounds, both included. */
export function parseSeconds(least: number, most: number): SettingParser<number> {
  return (text) => {
    const seconds = readSeconds(text);
    return seconds >= least && seconds <= most ? success(seconds) : failure(
      `must be a number of seconds from ${least} to ${most}, or a time such as 90s or 5m (units: s, m, h, d)`,
    );
  };
}

/** A time such as `30d`, in milliseconds: from a minute to ten years. */
export function parseDuration(text: string): Result<number, string> {
  const milliseconds = durationMs(text);
  return milliseconds >= 60_000 && milliseconds <= 3_650 * 86_400_000
    ? success(milliseconds)
    : failure("must be a number of minutes, hours or days up to ten years, such as 45m, 12h or 30d");
}

/** The same, or `0` for none. */
export function parseDurationOrNone(text: string): Result<number, string> {
  const given = text === "0" ? success(0) : parseDuration(text);
  return given.ok ? given : failure(`${given.error}; or 0`);
}

/** One of a few words. */
export function parseChoice<const Choice extends string>(choices: readonly Choice[]): SettingParser<Choice> {
  return (text) => {
    const found = choices.find((choice) => choice === text);
    return found === undefined
      ? failure(`must be one of: ${choices.join(", ")}${didYouMean(text, choices)}`)
      : success(found);
  };
}

export function parseSwitch(text: string): Result<boolean, string> {
  return text === "on" || text === "off" ? success(text === "on") : failure("must be on or off");
}

/** A comma-separated list; each item goes through the parser given, blanks around items are dropped. */
export function parseList<T>(parseItem: SettingParser<T>): SettingParser<readonly T[]> {
  return (text) => {
    const items: T[] = [];
    for (const part of text.split(",").map((item) => item.trim()).filter((item) => item !== "")) {
      const item = parseItem(part);
      if (!item.ok) return failure(`each item ${item.error}`);
      items.push(item.value);
    }
    return items.length === 0 ? failure("must name at least one") : success(items);
  };
}

/** Which proxies are believed: how many stand before the server, or in which networks they are. */
export function parseTrustedProxies(text: string): Result<TrustedProxies, string> {
  if (/^[1-9]$/.test(text)) return success({ kind: "hops", count: Number(text) });
  const networks = text.split(",").map((item) => parseIpNetwork(item.trim()));
  return networks.every((network) => network !== null)
    ? success({ kind: "networks", networks })
    : failure("must be a number of proxies from 1 to 9, or their networks such as 10.0.0.0/8,::1");
}

/** A host name or address to listen on. */
export function parseHost(text: string): Result<string, string> {
  return /^[A-Za-z0-9.:_-]{1,253}$/.test(text)
    ? success(text)
    : failure("must be a host name or an IP address such as 127.0.0.1");
}

/** A name that an authority on the internet can make a certificate for, in lower case and as it is in the DNS. */
export function parseDomain(text: string): Result<string, string> {
  const host = /[/@?#\s:]/.test(text) ? "" : URL.parse(`https://${text}`)?.hostname.replace(/\.$/, "") ?? "";
  const isPublic = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]*[a-z][a-z0-9-]*$/.test(host) &&
    !/\.(localhost|local)$/.test(host);
  return isPublic ? success(host) : failure(
    "must be a name in the public DNS alone, such as mcp.example.com: no address, https://, port or path; " +
      "for this machine or network alone, leave it out",
  );
}

/** The directory of an ACME server (RFC 8555 §7.1.1). */
export function parseDirectoryUrl(text: string): Result<string, string> {
  const url = URL.parse(text);
  return url?.protocol === "https:" && url.username === "" && url.password === ""
    ? success(url.href)
    : failure("must be an https URL such as https://acme-staging-v02.api.letsencrypt.org/directory");
}

/** A port on 127.0.0.1, or `HOST:PORT`; an IPv6 host is in brackets. */
export function parseListenAddress(text: string) {
  const [, ipv6, name, digits = ""] = /^(?:(?:\[([0-9A-Fa-f:.]+)\]|([^:]+)):)?(\d+)$/.exec(text) ?? [];
  const host = parseHost(ipv6 ?? name ?? "127.0.0.1");
  const port = parseInteger(0, 65_535)(digits);
  return host.ok && port.ok
    ? success({ host: host.value, port: port.value })
    : failure("must be a port from 0 to 65535, or HOST:PORT such as 127.0.0.1:9090 or [::1]:9090");
}

/** A web origin such as `https://app.example`, as browsers send it in `Origin` (RFC 6454 §6.1). */
export function parseOrigin(text: string): Result<string, string> {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.origin !== text.replace(/\/$/, "")) {
    return failure("must be an origin such as https://app.example, without a path");
  }
  return success(url.origin);
}

/** First words of the server's own paths: a path that begins like one of them cannot be told from it once it is removed. */
const ownPaths =
  /^\/(authorize|console|files|health|icons|invitation|mcp|oauth|register|revoke|servicenow|setup|token)\//;

/**
 * The address under which clients reach the server, and so the issuer: https, or http on a loopback host only
 * (RFC 8414 §2), with a path where it shares its host; no query, fragment or user name. Given back without a trailing
 * slash: issuers are compared byte for byte (RFC 8414 §3.3).
 */
export function parseServerUrl(text: string): Result<string, string> {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || /[$%{}]/.test(text)) {
    return failure("must be a URL such as https://mcp.example.com");
  }
  if (url.username !== "" || url.password !== "") return failure("must not hold a user name or password");
  if (/[?#]/.test(text)) return failure("must not have a query or fragment");
  const path = url.pathname.replace(/\/$/, "");
  if (path.endsWith("/mcp")) return failure("must not end in /mcp, which clients add");
  if (!/^(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*){0,8}$/.test(path)) {
    return failure("must have a path of plain words only, such as /portcullis, or none");
  }
  if (ownPaths.test(`${path}/`)) return failure("must not begin its path with one of the server's own, such as /oauth");
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) {
    return failure("must be https, unless its host is localhost, 127.0.0.1 or [::1]");
  }
  return success(`${url.origin}${path}`);
}

/** The address of a ServiceNow instance: https, or http on this machine for a stand-in; no path, query or user name. */
export function parseInstanceUrl(text: string): Result<string, string> {
  const url = URL.parse(text);
  return url !== null && isSafeUrl(url) && url.pathname === "/" && url.username === "" && url.password === "" &&
      !/[?#]/.test(text)
    ? success(url.origin)
    : failure("must be an https URL without a path, such as https://example.service-now.com");
}

/** A secret that cannot be guessed: at least 16 characters, at least 8 different ones. */
export function parseStrongSecret(text: string): Result<string, string> {
  return text.length >= 16 && new Set(text).size >= 8
    ? success(text)
    : failure("is too weak; make one with: openssl rand -base64 32");
}

/** 32 bytes as base64url or base64, for sealing and signing. */
export function parseMasterKey(text: string): Result<Uint8Array, string> {
  const bytes = /^[A-Za-z0-9_+/-]{43}=?$/.test(text)
    ? Uint8Array.fromBase64(text.replaceAll("+", "-").replaceAll("/", "_"), { alphabet: "base64url" })
    : new Uint8Array(0);
  return bytes.byteLength === 32 && new Set(bytes).size >= 8
    ? success(bytes)
    : failure("must be 32 random bytes; make them with: openssl rand -base64 32");
}

/** An Argon2id or scrypt hash in PHC form, as `portcullis hash-password` prints it. */
export function parsePasswordHash(text: string): Result<string, string> {
  return /^\$(argon2id\$v=19\$m=\d+,t=\d+|scrypt\$ln=\d+,r=\d+),p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/.test(text)
    ? success(text)
    : failure("must be what `portcullis hash-password` prints; quote it in a shell, since it holds dollar signs");
}

/** A chain of certificates as PEM (RFC 7468 §5), the server's own first. */
export function parseCertificates(text: string): Result<string, string> {
  return /^-----BEGIN CERTIFICATE-----$/m.test(text)
    ? success(text)
    : failure("must name a PEM file with the server's certificate, then those between it and its authority");
}

/** A private key as PEM (RFC 7468 §10), not encrypted. */
export function parsePrivateKey(text: string): Result<string, string> {
  return /^-----BEGIN (?:EC |RSA )?PRIVATE KEY-----$/m.test(text)
    ? success(text)
    : failure("must name a PEM file with the private key that belongs to the certificate, not encrypted");
}

/** Whether a host (as in a URL, or as listened on) is this machine only. */
export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Whether an address may be given secrets: https, or http on this machine; nothing that a browser runs. */
export function isSafeUrl(url: URL | null): boolean {
  return url?.protocol === "https:" || (url?.protocol === "http:" && isLoopbackHost(url.hostname));
}

/** One setting. `default` is text, so that it goes through the same parser; without it the setting may be absent. */
export interface Setting<T> {
  readonly env: string;
  readonly flag?: string;
  readonly default?: string;
  /** Its default on Deno Deploy, where that is another. */
  readonly defaultOnDeploy?: string;
  readonly parse: SettingParser<T>;
  readonly help: string;
  /** Its default where PUBLIC_DOMAIN is set, if that is another. */
  readonly defaultWhenPublic?: string;
  /** Never shown, not even in an error about it; can also be read from the file that `<env>_FILE` names. */
  readonly secret?: true;
}

/** Bytes in a mebibyte. */
export const mebibyte = 1_048_576;
/** Seconds in a day. */
export const day = 86_400;

/** A setting that always has a value. */
export function required<T>(setting: Omit<Setting<T>, "default"> & { default: string }): Setting<T> & {
  default: string;
} {
  return setting;
}

/** A setting that may be absent. */
export function optional<T>(setting: Omit<Setting<T>, "default">): Setting<T> & { default?: never } {
  return setting;
}

/** The settings of one part, by the name that it knows them by. */
export type SettingTable = Readonly<Record<string, Setting<unknown>>>;

type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** What a table gives once parsed: settings with a default are always there. */
export type ValuesOf<Table> =
  & { readonly [Name in keyof Table as Table[Name] extends { default: string } ? Name : never]: ValueOf<Table[Name]> }
  & { readonly [Name in keyof Table as Table[Name] extends { default: string } ? never : Name]?: ValueOf<Table[Name]> };

/** What a setting accepts: what its parser says of a lone bracket, which hardly any takes. Empty for any text. */
export function acceptedText({ parse }: Setting<unknown>): string {
  const outcome = parse("(");
  return outcome.ok ? "" : outcome.error.replace(/^(must (be )?|is too weak; )/, "");
}
