/**
 * The certificate of PUBLIC_DOMAIN: kept in the storage, its key sealed, so that all instances serve it. One of them
 * gets it, and renews it when a third of its life is left. One that cannot be renewed stays in use, and the reason is
 * stored for `doctor` and the console.
 */
import type { KeyObject } from "node:crypto";
import * as z from "zod";
import { lazyObject } from "../lib/lazy_object.ts";
import { nodeCrypto } from "../lib/program.ts";
import { failure, type Problem, type Result, success } from "../lib/result.ts";
import { hashSecret, type SecretBox, toBase64Url } from "../lib/secrets.ts";
import { pagesBelow } from "../lib/stored_entries.ts";
import { faultWords, fetchFaultWords, parseStored } from "../lib/system_fault.ts";
import { type Clock, createPause, durationWords, type Pause, type Timers, within } from "../lib/time.ts";
import type { Foundation, Storage, StorageKey } from "../storage/mod.ts";
import { FlattenedSign } from "@panva/jose";
import { parseJson } from "../lib/json.ts";
import { readBounded, retryAfterMs as retryAfterOf } from "../lib/request_text.ts";

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
/** No attempt lasts longer, however slowly the authority answers. */
export const attemptMs = 540_000;
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

// Gets a certificate for one name from an authority by ACME (RFC 8555), proving the name by HTTP-01 (§8.3). Keeps
// nothing: the caller has the account's key, and answers the challenge on port 80.

/** Why there is no certificate, in words for the operator, and how long the authority wants to be left alone. */
interface AcmeProblem extends Problem {
  readonly retryAfterMs: number;
}

interface AcmeOptions {
  /** The URL of the authority's directory (§7.1.1). */
  readonly directory: string;
  readonly name: string;
  readonly accountKey: KeyObject;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly pause: Pause;
  readonly signal: AbortSignal;
  /** Makes the answer of a challenge available on port 80, on every instance, before the authority asks for it. */
  offer(token: string, answer: string): Promise<void>;
  /** Whether the authority, or anyone else, has asked this instance for it. */
  wasAsked(token: string): boolean;
}

/** The chain and the private key as PEM. Rejects for a bug, or where `offer` does. */
export async function requestCertificate(options: AcmeOptions) {
  return await within(attemptMs, options.pause, async (late) => {
    try {
      const bounded = { ...options, signal: AbortSignal.any([options.signal, late]) };
      return success(await order(bounded, await openSession(bounded)));
    } catch (error) {
      if (!(error instanceof AcmeRefusal)) throw error;
      return failure({ ...describe(error, options), retryAfterMs: error.retryAfterMs });
    }
  });
}

const requestTimeoutMs = 30_000;
/** Of one answer: a chain of certificates is the longest. */
const maxReplyBytes = 131_072;
/** A nonce may be refused though it was given (§6.5). */
const maxNonces = 10;
const firstPollMs = 500;
const longestPollMs = 10_000;
/** For the authority to check the name, and then to sign. */
const patienceMs = 120_000;
/** A clock further off misjudges when a certificate begins and ends. */
const maxClockErrorMs = 600_000;

const directorySchema = lazyObject(() => ({ newNonce: z.string(), newAccount: z.string(), newOrder: z.string() }));
const problemSchema = lazyObject(() => ({ type: z.string().default(""), detail: z.string().default("") }));
const orderSchema = lazyObject(() => ({
  status: z.string(),
  authorizations: z.array(z.string()).min(1),
  finalize: z.string(),
  certificate: z.string().optional(),
  error: problemSchema.optional(),
}));
const authorizationSchema = lazyObject(() => ({
  status: z.string(),
  challenges: z.array(z.looseObject({
    type: z.string(),
    url: z.string(),
    token: z.string().optional(),
    error: problemSchema.optional(),
  })),
}));

/** `unreachable` and `clock` are ours; the others are the last part of a problem's type (§6.7). */
class AcmeRefusal extends Error {
  constructor(readonly kind: string, detail: string, readonly retryAfterMs = 0, readonly token = "") {
    // deno-lint-ignore no-control-regex
    super(detail.replace(/[\x00-\x1f\x7f]+/g, " ").slice(0, maxDetailCharacters));
  }
}

const maxDetailCharacters = 500;

type Session = Awaited<ReturnType<typeof openSession>>;

/** The directory read and the account opened, or found by its key (§7.3). */
async function openSession({ directory, fetch, clock, pause, accountKey, signal }: AcmeOptions) {
  const { origin } = new URL(directory);
  let nonce: string | null = null;
  let account: string | null = null;
  const { x = "", y = "" } = accountKey.export({ format: "jwk" });
  const jwk = { crv: "P-256", kty: "EC", x, y } as const; // in this order for the thumbprint (RFC 7638 §3)

  const send = async (url: string, init: RequestInit) => {
    // Its own documents name the other URLs: they must not lead this server elsewhere.
    if (URL.parse(url)?.origin !== origin) throw new AcmeRefusal("malformed", `it names a URL elsewhere: ${url}`);
    return await within(requestTimeoutMs, pause, async (late) => {
      try {
        const response = await fetch(url, { ...init, redirect: "error", signal: AbortSignal.any([signal, late]) });
        nonce = response.headers.get("replay-nonce") ?? nonce;
        const bytes = await readBounded(response, maxReplyBytes);
        if (bytes === null) throw new AcmeRefusal("malformed", "its answer is too large");
        return { response, text: new TextDecoder().decode(bytes) };
      } catch (error) {
        throw error instanceof AcmeRefusal ? error : unreachable(error);
      }
    });
  };
  const takeNonce = async (): Promise<string> => {
    if (nonce === null) await send(urls.newNonce, { method: "HEAD" });
    const taken = nonce ?? "";
    nonce = null;
    return taken;
  };
  /** Signs and posts (§6.2); no payload reads the resource (§6.3). */
  const post = async (url: string, payload?: object) => {
    for (let left = maxNonces;; left--) {
      const header = { alg: "ES256", nonce: await takeNonce(), url, ...account === null ? { jwk } : { kid: account } };
      const body = payload === undefined ? "" : JSON.stringify(payload);
      const signed = await new FlattenedSign(utf8(body)).setProtectedHeader(header).sign(accountKey);
      const { response, text } = await send(url, {
        method: "POST",
        headers: { "content-type": "application/jose+json" },
        body: JSON.stringify(signed),
      });
      const retryAfterMs = retryAfterOf(response.headers, clock()) ?? 0;
      if (response.ok) return { text, location: response.headers.get("location") ?? "", retryAfterMs };
      const { type = "", detail = "" } = problemSchema.safeParse(parseJson(text)).data ?? {};
      const kind = kindOf(type) || (response.status === 429 ? "rateLimited" : "serverInternal");
      if (kind !== "badNonce" || left === 0) {
        throw new AcmeRefusal(kind, detail || `it answers with status ${response.status}`, retryAfterMs);
      }
    }
  };

  const { response, text } = await send(directory, {});
  const ahead = clock() - Date.parse(response.headers.get("date") ?? "");
  if (Math.abs(ahead) > maxClockErrorMs) {
    throw new AcmeRefusal("clock", `${durationWords(Math.abs(ahead) / 1_000)} ${ahead > 0 ? "ahead of" : "behind"}`);
  }
  if (!response.ok) throw new AcmeRefusal("serverInternal", `its directory answers with status ${response.status}`);
  const urls = parse(directorySchema, text);
  account = (await post(urls.newAccount, { termsOfServiceAgreed: true })).location;
  return {
    newOrder: urls.newOrder,
    post,
    /** What port 80 has to answer (§8.1). */
    keyAuthorization: (token: string): string => `${token}.${hashSecret(JSON.stringify(jwk))}`,
  };
}

/** §7.4: an order, its proof, the request, the chain. */
async function order(options: AcmeOptions, session: Session) {
  const { newOrder, post } = session;
  const { text, location } = await post(newOrder, { identifiers: [{ type: "dns", value: options.name }] });
  const { authorizations: [authorization = ""], finalize } = parse(orderSchema, text);
  await prove(options, session, authorization);
  const follow = <T>(outcomeOf: (order: z.output<typeof orderSchema>) => T | null): Promise<T> =>
    poll(options, async () => {
      const reply = await post(location);
      const order = parse(orderSchema, reply.text);
      const { status, error } = order;
      if (status === "invalid") throw new AcmeRefusal(kindOf(error?.type ?? ""), error?.detail ?? "the order failed");
      return { reply, value: outcomeOf(order) };
    });
  await follow(({ status }) => status === "pending" ? null : true);
  const { request, privateKey } = createCertificateRequest(options.name);
  await post(finalize, { csr: toBase64Url(request) });
  const done = await follow(({ certificate }) => certificate ?? null);
  return { certificates: (await post(done)).text, privateKey };
}

/** §7.5: the authority asks port 80 of the name for the token, unless it knows the name as proven. */
async function prove(options: AcmeOptions, { post, keyAuthorization }: Session, authorization: string): Promise<void> {
  const { status, challenges } = parse(authorizationSchema, (await post(authorization)).text);
  if (status === "valid") return;
  const { url, token } = challenges.find(({ type }) => type === "http-01") ?? {};
  // §8.3: at least 128 bits, base64url; it becomes a part of a path and of a key.
  if (url === undefined || token === undefined || !/^[\w-]{22,128}$/.test(token)) {
    throw new AcmeRefusal("malformed", "it offers no HTTP-01 challenge");
  }
  await options.offer(token, keyAuthorization(token));
  await post(url, {});
  await poll(options, async () => {
    const reply = await post(authorization);
    const { status, challenges } = parse(authorizationSchema, reply.text);
    if (status === "valid") return { reply, value: true };
    if (status === "pending" || status === "processing") return { reply, value: null };
    const error = challenges.find((challenge) => challenge.url === url)?.error;
    throw new AcmeRefusal(kindOf(error?.type ?? ""), error?.detail ?? `the proof is ${status}`, 0, token);
  });
}

/** Looks again and again, as often as the authority asks to (§7.5.1), until there is a value. */
async function poll<T>(
  { pause, signal }: AcmeOptions,
  look: () => Promise<{ readonly reply: { readonly retryAfterMs: number }; readonly value: T | null }>,
): Promise<T> {
  for (let wait = firstPollMs, waited = 0;; wait = Math.min(wait * 2, longestPollMs)) {
    const { reply: { retryAfterMs }, value } = await look();
    if (value !== null) return value;
    if (waited > patienceMs || signal.aborted) {
      throw new AcmeRefusal("unreachable", "it did not come to an end in time");
    }
    const next = Math.min(Math.max(retryAfterMs, wait), longestPollMs);
    await pause(next, signal);
    waited += next;
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> {
  const parsed = schema.safeParse(parseJson(text));
  if (!parsed.success) throw new AcmeRefusal("malformed", "its answer is not ACME");
  return parsed.data;
}

function kindOf(type: string): string {
  return /^urn:ietf:params:acme:error:(\w+)$/.exec(type)?.[1] ?? "";
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function unreachable(error: unknown): AcmeRefusal {
  const words = fetchFaultWords(error);
  if (/NotValidYet|Expired/.test(words)) return new AcmeRefusal("certificateTime", words);
  return new AcmeRefusal(/UnknownIssuer|certificate/i.test(words) ? "untrusted" : "unreachable", words);
}

type Words = readonly [problem: string, remedy: string];

/** The culprit and the remedy. `wasAsked` tells a challenge that came here from one that another server answered. */
function describe(refusal: AcmeRefusal, { directory, name, clock, wasAsked }: AcmeOptions): Problem {
  const { host } = new URL(directory);
  const { message, token } = refusal;
  const authority = `the certificate authority ${host}`;
  const unwell = [
    `${authority} does not work at the moment: ${message}`,
    "nothing is wrong with this server's address: wait, or look whether this machine may connect to the authority",
  ] as const;
  const setClock = "set this machine's clock, and keep it synchronized";
  const words: Readonly<Record<string, Words>> = {
    unreachable: unwell,
    serverInternal: unwell,
    untrusted: [
      `${authority} shows a certificate that is not trusted here: ${message}`,
      "for a private authority, name its root certificate in Deno's variable DENO_CERT; else look who intercepts it",
    ],
    certificateTime: [
      `by this machine's clock (${new Date(clock()).toISOString()}) the certificate of ${host} is not valid`,
      setClock,
    ],
    clock: [`this machine's clock is ${message} that of ${authority}`, setClock],
    rateLimited: [
      `${authority} has had too many requests for ${name}: ${message}`,
      "wait: starting again does not help",
    ],
    dns: [
      `the name ${name} has no address that ${host} can find: ${message}`,
      "make a DNS record for it with this machine's public address, or correct PUBLIC_DOMAIN",
    ],
    caa: [
      `the CAA record of ${name} does not allow ${host}: ${message}`,
      "add the authority to the CAA record in the DNS, or choose another with ACME_DIRECTORY",
    ],
  };
  const isNameless = /could not resolve|NXDOMAIN/i.test(message); // Pebble calls it a failed connection
  const kind = isNameless && token !== "" ? "dns" : refusal.kind;
  const [problem, remedy] = (Object.hasOwn(words, kind) ? words[kind] : undefined) ?? wordsOfProof();
  return { problem, remedy };

  function wordsOfProof(): Words {
    if (token === "") {
      return [
        `${authority} refuses a certificate for ${name}: ${message}`,
        "correct PUBLIC_DOMAIN, or choose another authority with ACME_DIRECTORY",
      ];
    }
    if (wasAsked(token)) {
      return [
        `${host} asked this server for its proof of ${name} and did not accept it: ${message}`,
        "look for a proxy that changes answers on port 80, and remove addresses of other machines from the DNS record",
      ];
    }
    return kind === "connection"
      ? [
        `${host} cannot connect to port 80 of ${name}: ${message}`,
        "open port 80 in the firewall and the router, and point the DNS record to this machine",
      ]
      : [
        `${name} leads to another server, which answered in place of this one: ${message}`,
        "point its DNS records (A and AAAA) to this machine, and port 80 of the router to HTTP_PORT here",
      ];
  }
}

// The request for the certificate (PKCS #10, RFC 2986) as DER (ITU-T X.690): tag, length, content.

/** The request as DER, and its private key as PEM (RFC 5958). */
function createCertificateRequest(name: string): { readonly request: Uint8Array; readonly privateKey: string } {
  const key = generateP256();
  const names = sequence(der(contextPrimitive2, utf8(name))); // RFC 5280 §4.2.1.6: dNSName
  const extensions = sequence(sequence(oid(subjectAltName), der(octetString, names)));
  const info = sequence(
    der(integer, Uint8Array.of(0)), // version 1
    sequence(), // no subject: the name is in the extension
    nodeCrypto().createPublicKey(key).export({ format: "der", type: "spki" }),
    der(contextConstructed0, sequence(oid(extensionRequest), der(set, extensions))),
  );
  const signature = nodeCrypto().sign("sha256", info, key);
  const request = sequence(info, sequence(oid(ecdsaWithSha256)), der(bitString, Uint8Array.of(0), signature));
  return { request, privateKey: key.export({ format: "pem", type: "pkcs8" }).toString() };
}

/** A new key of the kind that ES256 (RFC 7518 §3.4) and the request take. */
export function generateP256(): KeyObject {
  return nodeCrypto().generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
}

const [integer, bitString, octetString, objectIdentifier] = [0x02, 0x03, 0x04, 0x06];
const [sequenceTag, set, contextConstructed0, contextPrimitive2] = [0x30, 0x31, 0xa0, 0x82];

const extensionRequest = "2a864886f70d01090e"; // 1.2.840.113549.1.9.14
const subjectAltName = "551d11"; // 2.5.29.17
const ecdsaWithSha256 = "2a8648ce3d040302"; // 1.2.840.10045.4.3.2

function der(tag: number, ...contents: readonly Uint8Array[]): Uint8Array {
  const content = contents.flatMap((each) => [...each]);
  const { length } = content;
  const lengthBytes = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Uint8Array.of(tag, ...lengthBytes, ...content);
}

function sequence(...contents: readonly Uint8Array[]): Uint8Array {
  return der(sequenceTag, ...contents);
}

function oid(hex: string): Uint8Array {
  return der(objectIdentifier, Uint8Array.fromHex(hex));
}
