/**
 * The certificate of PUBLIC_DOMAIN: kept in the storage, its key sealed, so that all instances serve it. One of them
 * gets it, and renews it when a third of its life is left. One that cannot be renewed stays in use, and the reason is
 * stored for `doctor` and the console.
 */
import type { KeyObject } from "node:crypto";
import * as z from "zod";
import { lazyObject } from "../lib/lazy_object.ts";
import { nodeCrypto } from "../lib/program.ts";
import { failure, type Result } from "../lib/result.ts";
import { hashSecret, type SecretBox } from "../lib/secrets.ts";
import { pagesBelow } from "../lib/stored_entries.ts";
import { faultWords, parseStored } from "../lib/system_fault.ts";
import { createPause, type Timers } from "../lib/time.ts";
import type { Foundation, Storage, StorageKey } from "../storage/mod.ts";
import { type AcmeProblem, attemptMs, generateP256, requestCertificate } from "./acme_client.ts";

/** What TLS is served with, as PEM. */
export interface ServedCertificate {
  readonly certificates: string;
  readonly privateKey: string;
}

interface CertificateKeeperOptions extends Foundation {
  readonly name: string;
  /** The URL of the authority's directory. */
  readonly directory: string;
  readonly secrets: SecretBox;
  readonly timers: Timers;
  readonly fetch: typeof fetch;
  /** Called with the first certificate and with each one after it, whichever instance got it. */
  readonly onCertificate: (certificate: ServedCertificate) => Promise<void>;
  readonly lookMs?: number;
}

/** How often an instance looks for a certificate that another one got, and whether it is time to renew. */
const lookMs = 600_000;
/** The same while there is none. */
const firstLookMs = 5_000;
/** Longer than an attempt; an instance that ends in the middle of one holds up the others for no longer. */
const leaseMs = attemptMs + 60_000;
/** After the first failed attempt, the second, and so on: Let's Encrypt allows five failures an hour. */
const retryMs = [60_000, 300_000, 900_000, 3_600_000, 21_600_000] as const;
/** A start tries at once after this many failures, and after more where the last is this long ago. */
const [freeStarts, startAfterMs] = [3, 900_000];

const family = "public_certificate";
const sealPurpose = "public-certificate";

const certificateSchema = lazyObject(() => ({
  directory: z.string(),
  certificates: z.string(),
  sealedKey: z.string(),
  from: z.number(),
  ends: z.number(),
}));
const accountSchema = lazyObject(() => ({ sealedKey: z.string() }));
const failureSchema = lazyObject(() => ({
  problem: z.string(),
  remedy: z.string(),
  count: z.number(),
  at: z.number(),
  retryAt: z.number(),
}));

/** What {@link readCertificateState} gives. */
export type CertificateState = Awaited<ReturnType<typeof readCertificateState>>;

/** What is stored of a name's certificate, and why the last attempt failed, for `doctor` and the console. */
export async function readCertificateState(storage: Pick<Storage, "get">, name: string) {
  const [current, failed] = await Promise.all([
    read(storage, [family, name, "current"], certificateSchema),
    read(storage, [family, name, "failure"], failureSchema),
  ]);
  return { current: current?.value ?? null, failed: failed?.value ?? null };
}

/** Seals the keys again, for a change of the master key. It can be interrupted and repeated. */
export async function resealCertificates(
  storage: Storage,
  { from, to }: { readonly from: SecretBox; readonly to: SecretBox },
): Promise<void> {
  for await (const entries of pagesBelow<StorageKey, Awaited<ReturnType<Storage["list"]>>[number]>(storage, [family])) {
    for (const { key, value, version } of entries) {
      const sealed = accountSchema.safeParse(value);
      const opened = sealed.success ? await from.open(sealPurpose, sealed.data.sealedKey, contextOf(key)) : null;
      if (opened === null) continue;
      const sealedKey = await to.seal(sealPurpose, opened, contextOf(key));
      await storage.commit({ checks: [{ key, version }], puts: [{ key, value: { ...Object(value), sealedKey } }] });
    }
  }
}

/** Begins with {@link CertificateKeeper.start}. */
export function createCertificateKeeper(options: CertificateKeeperOptions) {
  const { name, directory, storage, secrets, clock, timers, log, onCertificate } = options;
  const pause = createPause(timers);
  const closing = new AbortController();
  const keyOf = (...part: [string, ...string[]]): StorageKey => [family, name, ...part];
  /** Of the certificate in use. */
  let used: string | null = null;
  let lastAsked: string | null = null;
  let stopTimer: (() => void) | undefined;

  /** The account's key at this authority; made at the first use. */
  const accountKey = async (): Promise<KeyObject> => {
    const key = keyOf("account", hashSecret(directory));
    const stored = await read(storage, key, accountSchema);
    const opened = stored && await secrets.open(sealPurpose, stored.value.sealedKey, contextOf(key));
    if (opened !== null) return nodeCrypto().createPrivateKey({ key: JSON.parse(opened), format: "jwk" });
    const made = generateP256();
    const jwk = JSON.stringify(made.export({ format: "jwk" }));
    await storage.commit({
      puts: [{ key, value: { sealedKey: await secrets.seal(sealPurpose, jwk, contextOf(key)) } }],
    });
    return made;
  };
  const request = async (): Promise<Result<ServedCertificate, AcmeProblem>> =>
    await requestCertificate({
      ...options,
      pause,
      accountKey: await accountKey(),
      signal: closing.signal,
      offer: async (token, answer) =>
        void await storage.commit({
          puts: [{ key: keyOf("challenge", token), value: answer, expiresAt: clock() + leaseMs }],
        }),
      wasAsked: (token) => lastAsked === token,
    });
  const keep = async ({ certificates, privateKey }: ServedCertificate): Promise<void> => {
    const { validFrom, validTo } = new (nodeCrypto().X509Certificate)(certificates);
    const key = keyOf("current");
    const sealedKey = await secrets.seal(sealPurpose, privateKey, contextOf(key));
    const value = { directory, certificates, sealedKey, from: Date.parse(validFrom), ends: Date.parse(validTo) };
    await storage.commit({ puts: [{ key, value }], deletes: [keyOf("failure"), keyOf("lease")] });
    log.write("info", "certificate_issued", { name, until: validTo });
  };
  const noteFailure = async (given: AcmeProblem, count: number, ends: number | undefined): Promise<void> => {
    const { problem, remedy } = given;
    const at = clock();
    const retryAt = at + Math.max(given.retryAfterMs, retryMs[Math.min(count, retryMs.length) - 1] ?? 0);
    const value = { problem, remedy, count, at, retryAt };
    await storage.commit({ puts: [{ key: keyOf("failure"), value }], deletes: [keyOf("lease")] });
    const dates = { nextAttempt: dateOf(retryAt), ...ends === undefined ? {} : { inUseUntil: dateOf(ends) } };
    log.write("error", "certificate_failed", { name, problem, remedy, ...dates });
  };

  /** Takes what is stored into use, and gets a certificate where it is time. */
  const look = async (isStart: boolean): Promise<void> => {
    await take();
    const { current, failed } = await readCertificateState(storage, name);
    const now = clock();
    if (used !== null && current?.directory === directory && now < renewsAt(current)) return;
    const triesAtOnce = isStart && failed !== null && (failed.count <= freeStarts || now - failed.at > startAfterMs);
    if (failed !== null && now < failed.retryAt && !triesAtOnce) return;
    const lease = { key: keyOf("lease"), value: true, expiresAt: now + leaseMs };
    if (!await storage.commit({ checks: [{ key: lease.key, version: null }], puts: [lease] })) return;
    const issued = await request().catch((error) => failure(unforeseen(error)));
    if (closing.signal.aborted) return void await storage.commit({ deletes: [lease.key] });
    if (!issued.ok) return await noteFailure(issued.error, (failed?.count ?? 0) + 1, current?.ends);
    await keep(issued.value);
    await take();
  };
  const take = async (): Promise<void> => {
    const key = keyOf("current");
    const stored = await read(storage, key, certificateSchema);
    if (stored === null || stored.version === used) return;
    const privateKey = await secrets.open(sealPurpose, stored.value.sealedKey, contextOf(key));
    if (privateKey === null) return; // sealed under another master key: a new one takes its place
    await onCertificate({ certificates: stored.value.certificates, privateKey });
    used = stored.version;
  };
  const lookOn = async (isStart = false): Promise<void> => {
    await look(isStart).catch((error) => log.write("error", "certificate_look_failed", { error: String(error) }));
    if (closing.signal.aborted) return;
    stopTimer = timers.after(options.lookMs ?? (used === null ? firstLookMs : lookMs), () => void (looking = lookOn()));
  };
  let looking: Promise<void> = Promise.resolve();

  return {
    /** Resolves when the certificate is in use, or when the first attempt to get one has failed. */
    start: (): Promise<void> => looking = lookOn(true),
    hasCertificate: (): boolean => used !== null,
    /** Port 80: the challenge (RFC 8555 §8.3), and the way to https for everything else; `Host` has no say in it. */
    async answer(request: Request): Promise<Response> {
      const url = URL.parse(request.url);
      if (url === null) return new Response("Host and request target must make one URL.\n", { status: 400 });
      const { pathname, search } = url;
      const [, token] = challengePath.exec(pathname) ?? [];
      if (token !== undefined) {
        const entry = await storage.get(keyOf("challenge", token)).catch(() => null);
        if (entry === null) return new Response("There is no such challenge.\n", { status: 404 });
        lastAsked = token;
        return new Response(String(entry.value), { headers: { "content-type": "application/octet-stream" } });
      }
      if (used === null) return new Response("This server waits for its certificate.\n", { status: 503 });
      const location = `https://${name}${pathname}${search}`;
      return new Response(`This server is at https://${name}\n`, { status: 308, headers: { location } });
    },
    async close(): Promise<void> {
      closing.abort();
      stopTimer?.();
      await looking;
    },
  };
}

const challengePath = /^\/\.well-known\/acme-challenge\/([\w-]{22,128})$/;

async function read<Schema extends z.ZodType>(storage: Pick<Storage, "get">, key: StorageKey, schema: Schema) {
  const entry = await storage.get(key);
  return entry && { value: parseStored(schema, entry.value, family), version: entry.version };
}

/** When a third of its life is left: at 30 days for 90, which Let's Encrypt advises. */
function renewsAt({ from, ends }: { readonly from: number; readonly ends: number }): number {
  return ends - (ends - from) / 3;
}

function contextOf(key: StorageKey): string {
  return JSON.stringify(key);
}

function dateOf(time: number): string {
  return new Date(time).toISOString();
}

function unforeseen(error: unknown): AcmeProblem {
  return { problem: `getting the certificate failed: ${faultWords(error)}`, remedy: "see the log", retryAfterMs: 0 };
}
