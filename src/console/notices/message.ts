/** One notice, in the format of each service, and sending it once. What clients and people call themselves is escaped. */
import { createHmac } from "../../lib/secrets.ts";
import { fetchFaultWords } from "../../lib/system_fault.ts";

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
export type NoticeKind = "held_call" | "connection" | "attack" | "upkeep" | "several" | "test";

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

/** The request that tells a service of a notice. */
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
