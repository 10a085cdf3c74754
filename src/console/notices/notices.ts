/**
 * Tells the owner at once, at the address of NOTIFY_URL: it reads the log, and sends what they should know, in the
 * format of each service. No call waits for it. Each event is told once, whichever instances see it; several at once
 * become one message; what is late is dropped.
 */
import * as z from "zod";
import { showExactly } from "../../files/mod.ts";
import { boundedMap } from "../../lib/bounded_map.ts";
import type { Log, LogFields, LogLevel } from "../../lib/log.ts";
import type { Check } from "../../lib/result.ts";
import { createHmac, digestOf, randomId } from "../../lib/secrets.ts";
import { type Clock, createPause, durationWords, type Timers } from "../../lib/time.ts";
import type { Foundation, Storage, StorageKey } from "../../storage/mod.ts";
import { type HeldCall, heldMs, pageOf, readHeldCall } from "../approvals/gate.ts";
import { fetchFaultWords } from "../../lib/system_fault.ts";

interface NoticeParts extends Foundation {
  readonly timers: Timers;
  readonly fetch: typeof globalThis.fetch;
  /** SERVER_URL, and whether the console's pages are below it. */
  readonly serverUrl: string;
  readonly hasConsole: boolean;
  /** NOTIFY_CONTENTS: a waiting call's notice shows what it would do. */
  readonly showsContents: boolean;
  nameOfClient(clientId: string): Promise<string | null>;
  /** What is about to end: disks, certificates. */
  upkeep(): Promise<readonly Check[]>;
}

/** Something to tell, before the names in it are looked up. */
interface Told {
  readonly kind: NoticeKind;
  /** The same on every instance that sees it. */
  readonly id: string;
  /** For how long it is told once; 0 where one instance sees it, once. */
  readonly onceForMs: number;
  readonly fields: LogFields;
}

const maxWaiting = 100;
/** More than these at once are one message. */
const maxSingle = 3;
const spacingMs = 5_000;
const floodMs = 60_000;
const firstRetryMs = 2_000;
const maxRetryMs = 60_000;
const lookMs = 600_000;
const maxRecent = 1_000;
const maxNameCharacters = 80;
/** With title and link, and each character escaped, within the 2,000 of Discord. */
const maxTextCharacters = 600;
const maxContentsCharacters = 400;
const waitWords = durationWords(heldMs / 1_000);
const hourMs = 3_600_000;
const failureKeptMs = 7 * 24 * hourMs;

/** Opens the way there. `hear` gives a log that is heard; `close` resolves once what waits was tried a last time. */
export function openNotices(target: NoticeTarget, parts: NoticeParts) {
  const { storage, clock, timers, log, fetch, serverUrl, hasConsole, showsContents } = parts;
  const waiting: { readonly told: Told; readonly at: number; readonly time: number }[] = [];
  /** Until when each is not told again, by `timers`. */
  const recent = boundedMap<string, number>(maxRecent);
  const closing = new AbortController();
  const { signal: closed } = closing;
  const wait = createPause(timers);
  let left = 0; // beyond those that wait
  let isRunning = false;
  let running = Promise.resolve();

  const tell = (told: Told): void => {
    const now = timers.elapsed();
    if (closed.aborted || (recent.get(told.id) ?? 0) > now) return;
    if (told.onceForMs > 0) recent.set(told.id, now + told.onceForMs);
    if (waiting.length < maxWaiting) waiting.push({ told, at: now, time: clock() });
    else left += 1;
    if (!isRunning) running = run();
  };

  const run = async (): Promise<void> => {
    isRunning = true;
    try {
      while (waiting.length > 0) {
        const taken = waiting.splice(0, waiting.length > maxSingle || closed.aborted ? waiting.length : 1);
        const more = left;
        left = 0;
        const fresh = [];
        for (const each of taken) if (isInTime(each.at) && await isFirst(each.told)) fresh.push(each);
        const [first] = fresh;
        if (first === undefined) continue;
        const isOne = fresh.length + more === 1;
        await deliver(isOne ? await noticeOf(first.told, first.time) : several(fresh, more), first.at);
        await wait(isOne ? spacingMs : floodMs, closed);
      }
    } catch (error) {
      log.write("error", "notices_failed", { error: String(error) });
    } finally {
      isRunning = false;
    }
  };

  const isInTime = (at: number): boolean => timers.elapsed() - at < heldMs;

  /** Of all instances, the first to ask tells it. Where the storage is lost, twice is better than never. */
  const isFirst = async ({ id, onceForMs }: Told): Promise<boolean> => {
    if (onceForMs === 0) return true;
    const key: StorageKey = ["notice", digestOf(id)];
    const put = { key, value: true, expiresAt: clock() + onceForMs };
    return await storage.commit({ checks: [{ key, version: null }], puts: [put] }).catch(() => true);
  };

  const deliver = async (notice: Notice, at: number): Promise<void> => {
    for (let retryMs = firstRetryMs;; retryMs = Math.min(2 * retryMs, maxRetryMs)) {
      const isLast = closed.aborted;
      const sent = await sendNotice(notice, target, { fetch, now: clock() });
      if (sent.ok) return void await storage.commit({ deletes: [failureKey] }).catch(() => false);
      log.write("warn", "notice_not_sent", { to: targetWords(target), problem: sent.problem });
      const value = { at: clock(), problem: sent.problem };
      const put = { key: failureKey, value, expiresAt: value.at + failureKeptMs };
      await storage.commit({ puts: [put] }).catch(() => false);
      if (sent.retry === null || isLast) return;
      await wait(Math.max(retryMs, sent.retry), closed);
      if (!isInTime(at)) return;
    }
  };

  const consoleUrl = (place: string): string => hasConsole ? `${serverUrl}/console${place}` : serverUrl;

  const noticeOf = async ({ kind, fields }: Told, time: number): Promise<Notice> => {
    const { user, client, tool, held, event, reason, what, text } = fields;
    const nameOf = async (id: string) => await parts.nameOfClient(id).catch(() => null) ?? id;
    const name = typeof client === "string" ? shown(await nameOf(client)) : "A client";
    const person = shown(String(user ?? "someone"));
    const wanted = kind === "held_call" && showsContents
      ? await readHeldCall(storage, String(held)).catch(() => null)
      : null;
    const contents = wanted === null ? "" : `\n${contentsOf(wanted.call)}`;
    const words = {
      held_call: () => ({
        title: `${name} wants to use ${shown(String(tool))}`,
        text: `For ${person}. It waits for approval until ${hourOf(time + heldMs)} (${waitWords}).${contents}`,
        url: hasConsole ? pageOf(consoleUrl("/decisions"), String(held)) : serverUrl,
        about: { user: person, client: name, tool: String(tool), expires: new Date(time + heldMs).toISOString() },
      }),
      connection: () => ({
        title: `${name} is connected`,
        text: `${person} gave it access. Remove it on the page Connections if that was not you.`,
        url: consoleUrl("/connections"),
        about: { user: person, client: name },
      }),
      attack: () => ({
        title: attackWords[String(reason ?? event)] ?? "A credential that was used before was refused",
        text: typeof client === "string" ? `${name}, for ${person}. What it did is in the audit.` : "See the audit.",
        url: consoleUrl("/activity"),
        about: { reason: String(reason ?? event) },
      }),
      upkeep: () => ({ title: `Needs attention: ${what}`, text: String(text), url: consoleUrl("") }),
    };
    const made = words[kind as keyof typeof words]();
    return { id: randomId(), kind, time, ...made, text: made.text.slice(0, maxTextCharacters).toWellFormed() };
  };

  const several = (all: readonly { readonly told: Told; readonly time: number }[], more: number): Notice => {
    const counts = Object.entries(Object.groupBy(all, ({ told }) => told.kind))
      .map(([kind, those]) => `${those.length} ${manyWords[kind as NoticeKind]}`);
    const rest = more === 0 ? [] : [`${more} more`];
    const isHeld = all.some(({ told }) => told.kind === "held_call");
    return {
      id: randomId(),
      kind: "several",
      time: clock(),
      title: `${all.length + more} notices`,
      text: `${[...counts, ...rest].join(", ")}.`,
      url: consoleUrl(isHeld ? "/decisions" : ""),
    };
  };

  const lookAtUpkeep = async (): Promise<void> => {
    for (const { name, state, text } of await parts.upkeep()) {
      if (state !== "warning" && state !== "broken") continue;
      const id = `upkeep ${serverUrl} ${name} ${state}`;
      tell({ kind: "upkeep", id, onceForMs: 24 * hourMs, fields: { what: name, text } });
    }
  };
  const stopLooking = timers.every(lookMs, () => {
    lookAtUpkeep().catch((error) => log.write("error", "notices_failed", { error: String(error) }));
  });

  return {
    hear: (heard: Log): Log => ({
      write(level, event, fields) {
        heard.write(level, event, fields);
        const told = toldOf(level, event, fields ?? {});
        if (told !== null) tell(told);
      },
      flush: () => heard.flush(),
    }),
    async close(): Promise<void> {
      stopLooking();
      closing.abort();
      await running;
    },
  };
}

const manyWords: Readonly<Partial<Record<NoticeKind, string>>> = {
  held_call: "waiting for approval",
  connection: "new connections",
  attack: "refused as attacks",
  upkeep: "about disks or certificates",
};

const attackWords: Readonly<Record<string, string>> = {
  replayed_code: "A stolen sign-in code was refused",
  reused_refresh_token: "A used refresh token came again: its access was ended",
  too_many_attempts: "Someone tries passphrases",
  audit_chain_changed: "The stored audit was changed",
};

/** What of the log a person is told; it comes from one instance. */
function toldOf(level: LogLevel, event: string, fields: LogFields): Told | null {
  const { outcome, reason, held, client, user } = fields;
  const told = (kind: NoticeKind, id: string, onceForMs: number): Told => (
    { kind, id: `${kind} ${id}`, onceForMs, fields: { ...fields, event } }
  );
  if (event === "held_call" && outcome === "waits") return told("held_call", String(held), 0);
  if (event === "consent" && outcome === "allowed") return told("connection", String(client), 0);
  if (event === "audit_chain_changed" && level === "error") return told("attack", event, hourMs);
  const isAttack = typeof reason === "string" && /^replayed_|^reused_|^too_many_attempts$/.test(reason);
  // at a sign-in the name may be any that a stranger types: a notice for each would bury all others
  const about = client ?? (event === "sign_in" ? event : user);
  return isAttack ? told("attack", `${reason} ${about}`, hourMs) : null;
}

/** A name as its owner chose it, in one line. */
function shown(name: string): string {
  return cut(showExactly(name.slice(0, 4 * maxNameCharacters).replaceAll(/\s+/g, " ")), maxNameCharacters);
}

/** What the call would do, as the page of the approval shows it: invisible characters are escaped there already. */
function contentsOf({ effect, places }: HeldCall): string {
  return cut(`${places.length === 0 ? "" : `About ${places.join(", ")}:\n`}${effect}`, maxContentsCharacters);
}

/** Within a bound, and without a link that a phone would follow. */
function cut(text: string, maxCharacters: number): string {
  const plain = text.slice(0, maxCharacters + 1).replaceAll("://", ": //");
  return (plain.length > maxCharacters ? `${plain.slice(0, maxCharacters - 1)}…` : plain).toWellFormed();
}

function hourOf(time: number): string {
  return `${new Date(time).toISOString().slice(11, 16)} UTC`;
}

const failureKey: StorageKey = ["notice_failure", "last"];
const failureShape = z.lazy(() => z.object({ at: z.number(), problem: z.string() }));

/** Where notices go, and whether the last one arrived; for `doctor` and the console. */
export async function examineNotices(target: NoticeTarget, storage: Storage | null, clock: Clock): Promise<Check> {
  const name = "notices";
  const entry = await storage?.get(failureKey) ?? null;
  if (entry === null) return { name, state: "well", text: `go to ${targetWords(target)}` };
  const { at, problem } = failureShape.parse(entry.value);
  const ago = durationWords(Math.max(0, Math.round((clock() - at) / 1_000)));
  const text = `the last one, ${ago} ago, did not arrive: ${targetWords(target)} ${problem}`;
  return { name, state: "warning", text, remedy: "correct NOTIFY_URL, then run `portcullis notify test`" };
}

/** What a person is told. It holds neither arguments nor contents of a call, unless NOTIFY_CONTENTS is on. */
export interface Notice {
  /** The same however often it is sent. */
  readonly id: string;
  readonly kind: NoticeKind;
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** One line. */
  readonly title: string;
  /** One line, and what a call would do below it where the owner asks for that. */
  readonly text: string;
  /** The page that it is about, behind the sign-in. */
  readonly url: string;
  /** For programs, which get it in the format json. */
  readonly about?: Readonly<Record<string, string>>;
}

/** `several`: more than a few at once. */
type NoticeKind = "held_call" | "connection" | "attack" | "upkeep" | "several" | "test";

type NoticeFormat = "json" | "ntfy" | "slack" | "discord" | "teams" | "gotify";

/** Where notices go. */
export interface NoticeTarget {
  readonly url: string;
  readonly format: NoticeFormat;
  readonly secret?: string | undefined;
}

/** Where the settings lead, `null` for nowhere. The format is the setting's, or that of the host's name. */
export function noticeTarget({ url, format, secret }: Partial<NoticeTarget>): NoticeTarget | null {
  if (url === undefined) return null;
  const { hostname } = new URL(url);
  const known = (Object.keys(services) as NoticeFormat[]).find((each) => services[each].host?.test(hostname));
  return { url, format: format ?? known ?? "json", secret };
}

/** The service and its host: the rest of the address may be a secret. */
export function targetWords({ url, format }: NoticeTarget): string {
  return `${format} at ${new URL(url).host}`;
}

/** A service: its hosts, what it is told, and what differs from a plain request to the address. */
interface Service {
  readonly host?: RegExp;
  bodyOf(notice: Notice, isUrgent: boolean, url: URL): unknown;
  urlOf?(url: URL): URL;
  headersOf?(secret: string, notice: Notice, body: string, now: number): Readonly<Record<string, string>>;
}

const services: Readonly<Record<NoticeFormat, Service>> = {
  json: {
    bodyOf: ({ time, about = {}, ...rest }) => ({ ...rest, time: new Date(time).toISOString(), ...about }),
    /** Standard Webhooks: a signature over id, time and body. */
    headersOf(secret, { id }, body, now) {
      const timestamp = String(Math.floor(now / 1_000));
      const [, encoded] =
        /^whsec_((?:[A-Za-z0-9+/]{4})*[A-Za-z0-9+/]{2}(?:==|[A-Za-z0-9+/][A-Za-z0-9+/=]))$/.exec(secret) ?? [];
      const key = encoded === undefined ? new TextEncoder().encode(secret) : Uint8Array.fromBase64(encoded);
      const signature = createHmac(key)(`${id}.${timestamp}.${body}`).toBase64();
      return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
    },
  },
  ntfy: { // published as JSON to the server, which takes no topic in the path then
    host: /(^|\.)ntfy\./,
    urlOf: (url) => new URL(".", url.href.replace(/[?#].*$|\/$/g, "")),
    bodyOf({ title, text, url: click }, isUrgent, { pathname }) {
      const topic = pathname.split("/").filter(Boolean).at(-1) ?? "";
      return { topic, title, message: text, click, priority: isUrgent ? 4 : 3 };
    },
    headersOf: (secret) => ({ authorization: `Bearer ${secret}` }),
  },
  slack: { // plain_text knows no mentions, links or styles; `text` is what a phone shows
    host: /^hooks\.slack(-gov)?\.com$/,
    bodyOf: ({ title, text, url }) => ({
      text: `${forSlack(title)}: ${forSlack(text)}`,
      unfurl_links: false,
      blocks: [
        ...[title, text].map((each) => ({ type: "section", text: { type: "plain_text", text: each, emoji: false } })),
        { type: "section", text: { type: "mrkdwn", text: `<${forSlack(url)}|Open in Portcullis>` } },
      ],
    }),
  },
  discord: {
    host: /(^|\.)discord(app)?\.com$/,
    bodyOf: ({ title, text, url }) => ({
      content: `**${forDiscord(title)}**\n${forDiscord(text)}\n<${url}>`,
      allowed_mentions: { parse: [] },
      flags: 4, // no preview, which would ask this server for the page
    }),
  },
  teams: { // runs of a RichTextBlock are no Markdown
    host: /\.(logic\.azure|api\.powerplatform|webhook\.office)\.com$/,
    bodyOf({ title, text, url }) {
      const block = (words: string, style: Readonly<Record<string, string>> = {}) => ({
        type: "RichTextBlock",
        inlines: [{ type: "TextRun", text: words, ...style }],
      });
      const content = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        type: "AdaptiveCard",
        version: "1.4",
        body: [block(title, { weight: "Bolder" }), block(text)],
        actions: [{ type: "Action.OpenUrl", title: "Open in Portcullis", url }],
      };
      const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
      return { type: "message", attachments: [attachment] };
    },
  },
  gotify: {
    host: /(^|\.)gotify\./,
    urlOf(url) {
      if (!url.pathname.endsWith("/message")) url.pathname = `${url.pathname.replace(/\/$/, "")}/message`;
      return url;
    },
    bodyOf: ({ title, text, url }, isUrgent) => ({
      title,
      message: `${text}\n${url}`,
      priority: isUrgent ? 8 : 4,
      extras: { "client::display": { contentType: "text/plain" }, "client::notification": { click: { url } } },
    }),
    headersOf: (secret) => ({ "x-gotify-key": secret }),
  },
};

/** The request that tells a service of a notice. What clients and people call themselves is escaped. */
export function requestOf(notice: Notice, { url, format, secret }: NoticeTarget, now: number) {
  const { bodyOf, urlOf, headersOf } = services[format];
  const isUrgent = notice.kind === "held_call" || notice.kind === "attack";
  const body = JSON.stringify(bodyOf(notice, isUrgent, new URL(url)));
  const own = secret === undefined ? {} : headersOf?.(secret, notice, body, now);
  const headers = { "content-type": "application/json", "user-agent": "portcullis", ...own };
  return { url: urlOf?.(new URL(url)).href ?? url, headers, body };
}

function forSlack(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function forDiscord(text: string): string {
  return text.replace(/[\\*_~`|<>#@:[\]()-]/g, "\\$&");
}

const patienceMs = 10_000;
const maxRetryAfterMs = 900_000;
const retriedStatuses: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * Sends once, and follows no redirect. No text of the answer is kept. `retry`: after how long at least trying again may
 * help; `null` where it cannot.
 */
export async function sendNotice(
  notice: Notice,
  target: NoticeTarget,
  { fetch, now }: { readonly fetch: typeof globalThis.fetch; readonly now: number },
) {
  const { url, ...request } = requestOf(notice, target, now);
  try {
    const signal = AbortSignal.timeout(patienceMs);
    const response = await fetch(url, { ...request, method: "POST", redirect: "manual", signal });
    const { status, headers } = response;
    response.body?.cancel().catch(() => {});
    if (status >= 200 && status < 300) return { ok: true } as const;
    const isRetried = status >= 500 || retriedStatuses.has(status);
    const problem = status >= 300 && status < 400 ? "redirects, which is not followed" : `answers ${status}`;
    return { ok: false, problem, retry: isRetried ? retryAfterMs(headers.get("retry-after"), now) : null } as const;
  } catch (error) {
    return { ok: false, problem: fetchFaultWords(error), retry: 0 } as const;
  }
}

/** A number of seconds, or a date (RFC 9110 §10.2.3). */
function retryAfterMs(text: string | null, now: number): number {
  if (text === null) return 0;
  const wait = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1_000 : text.endsWith("GMT") ? Date.parse(text) - now : 0;
  return wait > 0 ? Math.min(wait, maxRetryAfterMs) : 0;
}
