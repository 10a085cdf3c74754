/**
 * The console's settings: whether its pages are served (stored rules hold either way), and where notices go. `app` reads
 * them before the rest of the console is loaded.
 */
import { isPublicAddress, isPublicHostName, parseIpAddress, withoutBrackets } from "../lib/network.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { optional, parseChoice, parseText, required } from "../lib/settings.ts";

/** Settings under the heading Console. */
export const consoleSettings = {
  pages: required({
    env: "CONSOLE",
    default: "on",
    parse: parseChoice(["on", "off"]),
    help: "whether the pages at /console are served; off refuses calls that would wait for approval there",
  }),
};

/** Settings under the heading Notices. */
export const noticeSettings = {
  url: optional({
    env: "NOTIFY_URL",
    parse: parseNotifyUrl,
    secret: true,
    help:
      "address that is told when a call waits for approval, a client is connected, an attack is refused, or a disk " +
      "or certificate is about to end: a webhook, or an ntfy topic",
  }),
  format: optional({
    env: "NOTIFY_FORMAT",
    parse: parseChoice(["json", "ntfy", "slack", "discord", "teams", "gotify"]),
    help: "format of these notices; by default the one that the host of NOTIFY_URL takes, otherwise json",
  }),
  contents: required({
    env: "NOTIFY_CONTENTS",
    default: "off",
    parse: parseChoice(["on", "off"]),
    help: "whether a notice of a waiting call shows what the call would do: contents and arguments leave this machine",
  }),
  secret: optional({
    env: "NOTIFY_SECRET",
    parse: parseText,
    secret: true,
    help: "signs json notices (Standard Webhooks); for ntfy the access token, for Gotify the application's token",
  }),
};

/** An address of the machine's or the network's own may be reached by http: the owner names it. */
function parseNotifyUrl(text: string): Result<string, string> {
  const url = URL.parse(text.trim());
  const host = withoutBrackets(url?.hostname ?? "");
  const isPublic = parseIpAddress(host) === null ? isPublicHostName(host) : isPublicAddress(host);
  const isUsable = url?.protocol === "https:" || (url?.protocol === "http:" && !isPublic);
  return url !== null && isUsable && url.username === "" && url.password === "" && url.hash === ""
    ? success(url.href)
    : failure("must be an https URL, or an http URL in a private network, without a user name");
}
