/** Stand-ins of the services that notices go to: each takes and refuses what the real one does, by its documentation. */
import { createHmac } from "node:crypto";

/** What a person sees of a message. */
interface Shown {
  readonly text: string;
  readonly click: string;
  /** Who is mentioned, or links that a sender's text made. */
  readonly wrong?: readonly string[];
}

type Answer = Shown | { readonly refused: number };

/** Takes one request, with the secret that the owner chose. */
type Service = (request: Request, body: string, secret: string) => Answer;

const member = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((inner, name) => (inner as Record<string | number, unknown> | undefined)?.[name], value);
const textAt = (value: unknown, ...path: readonly (string | number)[]): string => String(member(value, ...path) ?? "");

export const services: Readonly<Record<"json" | "ntfy" | "slack" | "discord" | "teams" | "gotify", Service>> = {
  /** Standard Webhooks: the signature is over id, time and body, with a key after `whsec_`. */
  json(request, body, secret) {
    const id = request.headers.get("webhook-id");
    const time = request.headers.get("webhook-timestamp");
    const key = secret.startsWith("whsec_") ? Uint8Array.fromBase64(secret.slice(6)) : new TextEncoder().encode(secret);
    const signature = `v1,${createHmac("sha256", key).update(`${id}.${time}.${body}`).digest("base64")}`;
    if (request.headers.get("webhook-signature") !== signature) return { refused: 401 };
    if (Math.abs(Date.now() / 1_000 - Number(time)) > 300) return { refused: 400 };
    const { title, text, url } = JSON.parse(body);
    return { text: `${title}\n${text}`, click: url };
  },
  /** https://docs.ntfy.sh/publish/#publish-as-json: to the server's root; below a topic, a body is plain text. */
  ntfy(request, body, secret) {
    if (request.headers.get("authorization") !== `Bearer ${secret}`) return { refused: 403 };
    if (new URL(request.url).pathname !== "/") return { text: body, click: "" };
    const { topic, title, message, click, priority } = JSON.parse(body);
    if (!/^[-_A-Za-z0-9]{1,64}$/.test(topic) || !(priority >= 1 && priority <= 5)) return { refused: 400 };
    if (new TextEncoder().encode(message).length > 4_096) return { refused: 413 };
    return { text: `${title}\n${message}`, click };
  },
  /** Incoming webhooks: `<` and `>` mark mentions and links in mrkdwn; plain_text of a section has 1 to 3000 characters. */
  slack(_request, body) {
    const message = JSON.parse(body);
    const blocks = member(message, "blocks") as readonly unknown[];
    const texts = blocks.map((block) => textAt(block, "text", "text"));
    const marks = [...textAt(message, "text").matchAll(/<[^>]*>/g)].map(([mark]) => mark);
    const isKnown = blocks.every((block) => member(block, "type") === "section");
    if (!isKnown || texts.some((text) => text === "" || text.length > 3_000)) return { refused: 400 };
    const plain = blocks.filter((block) => textAt(block, "text", "type") === "plain_text");
    const [, click = ""] = /^<([^|>]+)\|[^>]+>$/.exec(texts.at(-1) ?? "") ?? [];
    return {
      text: plain.map((block) => textAt(block, "text", "text")).join("\n"),
      click: click.replaceAll("&amp;", "&"),
      wrong: marks,
    };
  },
  /** Execute Webhook: content of 1 to 2000 characters is Markdown; mentions as `allowed_mentions` says. */
  discord(_request, body) {
    const { content, allowed_mentions: allowed } = JSON.parse(body);
    if (content === "" || content.length > 2_000) return { refused: 400 };
    const [title = "", ...lines] = content.split("\n");
    const link = lines.pop() ?? "";
    const shown = [title.slice(2, -2), ...lines].join("\n");
    const unescaped = shown.replace(/\\[^A-Za-z0-9\s]/g, "");
    const mentions = allowed.parse.length > 0 ? unescaped.match(/@(everyone|here)|<[@#][^>]*>/g) ?? [] : [];
    const marks = unescaped.match(/https?:\/\/\S+|[*_~`|<>[\]#]/g) ?? [];
    return {
      text: shown.replace(/\\([^A-Za-z0-9\s])/g, "$1"),
      click: link.slice(1, -1),
      wrong: [...mentions, ...marks],
    };
  },
  /** A workflow's webhook: an adaptive card in at most 28 kB; a TextBlock would be Markdown. */
  teams(_request, body) {
    const message = JSON.parse(body);
    if (member(message, "type") !== "message" || body.length > 28_000) return { refused: 400 };
    const card = member(message, "attachments", 0, "content");
    if (textAt(message, "attachments", 0, "contentType") !== "application/vnd.microsoft.card.adaptive") {
      return { refused: 400 };
    }
    const blocks = member(card, "body") as readonly unknown[];
    return {
      text: blocks.map((block) => textAt(block, "inlines", 0, "text")).join("\n"),
      click: textAt(card, "actions", 0, "url"),
      wrong: blocks.filter((block) => member(block, "type") !== "RichTextBlock").map(String),
    };
  },
  /** https://gotify.net/docs/pushmsg: `/message` with the application's token; text/plain unless it says Markdown. */
  gotify(request, body, secret) {
    if (request.headers.get("x-gotify-key") !== secret) return { refused: 401 };
    if (new URL(request.url).pathname !== "/message") return { refused: 404 };
    const message = JSON.parse(body);
    if (textAt(message, "message") === "" || !Number.isInteger(message.priority)) return { refused: 400 };
    const isMarkdown = textAt(message, "extras", "client::display", "contentType") === "text/markdown";
    return {
      text: `${message.title}\n${message.message}`,
      click: textAt(message, "extras", "client::notification", "click", "url"),
      wrong: isMarkdown ? ["Markdown"] : [],
    };
  },
};

export type ServiceName = keyof typeof services;

/** One of them, on this machine. `answers` are given first, in their order, whatever comes. */
export function startService(name: ServiceName, { secret = "whsec_c2VjcmV0LW9mLXRoZS1vd25lcg==" } = {}) {
  const shown: Shown[] = [];
  const answers: (() => Response | Promise<Response>)[] = [];
  let requests = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    requests += 1;
    const body = await request.text();
    const early = answers.shift();
    if (early !== undefined) return await early();
    const answer = services[name](request, body, secret);
    if ("refused" in answer) return new Response(null, { status: answer.refused });
    shown.push(answer);
    return new Response(null, { status: name === "discord" ? 204 : name === "teams" ? 202 : 200 });
  });
  const origin = `http://127.0.0.1:${server.addr.port}`;
  return {
    url: name === "ntfy" ? `${origin}/my-topic` : name === "gotify" ? origin : `${origin}/hook`,
    secret,
    shown,
    answers,
    requests: () => requests,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
