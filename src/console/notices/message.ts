/** One notice, in the format of each service, and sending it once. What clients and people call themselves is escaped. */
import { createHmac } from "../../lib/secrets.ts";
import { fetchFaultWords } from "../../lib/system_fault.ts";

/** What a person is told. It holds neither arguments nor contents of a call. */
export interface Notice {
  /** The same however often it is sent. */
  readonly id: string;
  readonly kind: NoticeKind;
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** One line each. */
  readonly title: string;
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

const formatsOfHosts: readonly (readonly [host: RegExp, format: NoticeFormat])[] = [
  [/(^|\.)ntfy\./, "ntfy"],
  [/^hooks\.slack(-gov)?\.com$/, "slack"],
  [/(^|\.)discord(app)?\.com$/, "discord"],
  [/\.(logic\.azure|api\.powerplatform|webhook\.office)\.com$/, "teams"],
  [/(^|\.)gotify\./, "gotify"],
];

/** Where the settings lead, `null` for nowhere. The format is the setting's, or that of the host's name. */
export function noticeTarget({ url, format, secret }: Partial<NoticeTarget>): NoticeTarget | null {
  if (url === undefined) return null;
  const { hostname } = new URL(url);
  const known = formatsOfHosts.find(([host]) => host.test(hostname))?.[1];
  return { url, format: format ?? known ?? "json", secret };
}

/** The service and its host: the rest of the address may be a secret. */
export function targetWords({ url, format }: NoticeTarget): string {
  return `${format} at ${new URL(url).host}`;
}

interface NoticeRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The request that tells a service of a notice. */
export function requestOf(notice: Notice, target: NoticeTarget, now: number): NoticeRequest {
  const { title, text, url: click } = notice;
  const { secret } = target;
  const isUrgent = notice.kind === "held_call" || notice.kind === "attack";
  const request = (
    body: unknown,
    { url = target.url, headers = {} }: Partial<Pick<NoticeRequest, "url" | "headers">> = {},
  ): NoticeRequest => ({
    url,
    headers: { "content-type": "application/json", "user-agent": "portcullis", ...headers },
    body: JSON.stringify(body),
  });
  switch (target.format) {
    case "ntfy": { // published as JSON to the server, which takes no topic in the path then
      const topic = new URL(target.url).pathname.split("/").filter(Boolean).at(-1) ?? "";
      const headers = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
      const message = { topic, title, message: text, click, priority: isUrgent ? 4 : 3 };
      return request(message, { url: new URL(".", target.url.replace(/[?#].*$|\/$/g, "")).href, headers });
    }
    case "gotify": {
      const url = new URL(target.url);
      if (!url.pathname.endsWith("/message")) url.pathname = `${url.pathname.replace(/\/$/, "")}/message`;
      return request({
        title,
        message: `${text}\n${click}`,
        priority: isUrgent ? 8 : 4,
        extras: {
          "client::display": { contentType: "text/plain" },
          "client::notification": { click: { url: click } },
        },
      }, { url: url.href, headers: secret === undefined ? {} : { "x-gotify-key": secret } });
    }
    case "slack": // plain_text knows no mentions, links or styles; `text` is what a phone shows
      return request({
        text: `${forSlack(title)}: ${forSlack(text)}`,
        unfurl_links: false,
        blocks: [
          ...[title, text].map((each) => ({
            type: "section",
            text: { type: "plain_text", text: each, emoji: false },
          })),
          { type: "section", text: { type: "mrkdwn", text: `<${forSlack(click)}|Open in Portcullis>` } },
        ],
      });
    case "discord":
      return request({
        content: `**${forDiscord(title)}**\n${forDiscord(text)}\n<${click}>`,
        allowed_mentions: { parse: [] },
        flags: suppressEmbeds,
      });
    case "teams": { // runs of a RichTextBlock are no Markdown
      const block = (words: string, style: Readonly<Record<string, string>> = {}) => ({
        type: "RichTextBlock",
        inlines: [{ type: "TextRun", text: words, ...style }],
      });
      const content = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        type: "AdaptiveCard",
        version: "1.4",
        body: [block(title, { weight: "Bolder" }), block(text)],
        actions: [{ type: "Action.OpenUrl", title: "Open in Portcullis", url: click }],
      };
      const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
      return request({ type: "message", attachments: [attachment] });
    }
    case "json": {
      const { time, about = {}, ...rest } = notice;
      const plain = request({ ...rest, time: new Date(time).toISOString(), ...about });
      return secret === undefined ? plain : { ...plain, headers: { ...plain.headers, ...signed(plain.body) } };
    }
  }

  /** Standard Webhooks: a signature over id, time and body. */
  function signed(body: string): Record<string, string> {
    const timestamp = String(Math.floor(now / 1_000));
    const [, encoded] =
      /^whsec_((?:[A-Za-z0-9+/]{4})*[A-Za-z0-9+/]{2}(?:==|[A-Za-z0-9+/][A-Za-z0-9+/=]))$/.exec(secret ?? "") ?? [];
    const key = encoded === undefined ? new TextEncoder().encode(secret) : Uint8Array.fromBase64(encoded);
    const signature = createHmac(key)(`${notice.id}.${timestamp}.${body}`).toBase64();
    return { "webhook-id": notice.id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
  }
}

/** No preview, which would ask this server for the page. */
const suppressEmbeds = 4;

function forSlack(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function forDiscord(text: string): string {
  return text.replace(/[\\*_~`|<>#@:[\]()-]/g, "\\$&");
}

/** `retry`: whether trying again may help, and after how long at least. */
export type Sent = { readonly ok: true } | {
  readonly ok: false;
  readonly problem: string;
  readonly retry: number | null;
};

const patienceMs = 10_000;
const maxRetryAfterMs = 900_000;
const retriedStatuses: ReadonlySet<number> = new Set([408, 425, 429]);

/** Sends once, and follows no redirect. No text of the answer is kept. */
export async function sendNotice(
  notice: Notice,
  target: NoticeTarget,
  { fetch, now }: { readonly fetch: typeof globalThis.fetch; readonly now: number },
): Promise<Sent> {
  const { url, ...request } = requestOf(notice, target, now);
  try {
    const signal = AbortSignal.timeout(patienceMs);
    const response = await fetch(url, { ...request, method: "POST", redirect: "manual", signal });
    const { status, headers } = response;
    response.body?.cancel().catch(() => {});
    if (status >= 200 && status < 300) return { ok: true };
    const isRetried = status >= 500 || retriedStatuses.has(status);
    const problem = status >= 300 && status < 400 ? "redirects, which is not followed" : `answers ${status}`;
    return { ok: false, problem, retry: isRetried ? retryAfterMs(headers.get("retry-after"), now) : null };
  } catch (error) {
    return { ok: false, problem: fetchFaultWords(error), retry: 0 };
  }
}

/** A number of seconds, or a date (RFC 9110 §10.2.3). */
function retryAfterMs(text: string | null, now: number): number {
  if (text === null) return 0;
  const wait = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1_000 : text.endsWith("GMT") ? Date.parse(text) - now : 0;
  return wait > 0 ? Math.min(wait, maxRetryAfterMs) : 0;
}
