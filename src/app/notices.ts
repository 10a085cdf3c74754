/** Wires the notices of NOTIFY_URL: where they go, and what they are told of. Loaded where there is one. */
import { loadNotices } from "../console/mod.ts";
import { type Check, failure, type Result, success } from "../lib/result.ts";
import { randomId } from "../lib/secrets.ts";
import { type Clock, systemClock } from "../lib/time.ts";
import type { Storage } from "../storage/mod.ts";
import type { Config } from "./config/config.ts";
import { readClientName } from "./protocol_server.ts";
import { examineCertificate, examineDisks, examineStoredCertificate } from "./doctor_machine.ts";
import type { Parts } from "./installation.ts";
import { serverUrlFor } from "./server_url.ts";

/** `null` without NOTIFY_URL. */
export async function openNotices(config: Config, parts: Parts) {
  const notices = await loadNotices();
  const target = notices.noticeTarget(config.notices);
  return target && notices.openNotices(target, {
    ...parts,
    fetch,
    hasConsole: config.console.pages === "on",
    showsContents: config.notices.contents === "on",
    nameOfClient: (id) => readClientName(parts.storage, id),
    upkeep: () => upkeepFacts(config, parts),
  });
}

/** What comes to an end by itself. */
export async function upkeepFacts(config: Config, parts: Parts): Promise<readonly Check[]> {
  const { publicDomain } = config.http;
  return [
    ...examineDisks(config, parts.kernel),
    ...examineCertificate(config.http.tls, { serverUrl: parts.serverUrl, clock: systemClock }),
    ...publicDomain === undefined
      ? []
      : await Array.fromAsync(examineStoredCertificate(config, publicDomain, parts.storage)),
  ];
}

/** Where notices go; nothing without NOTIFY_URL. */
export async function examineNotices(config: Config, storage: Storage, clock: Clock): Promise<readonly Check[]> {
  const notices = await loadNotices();
  const target = notices.noticeTarget(config.notices);
  return target === null ? [] : [await notices.examineNotices(target, storage, clock)];
}

/** Sends one, for `portcullis notify test`: where it went, or why it did not. */
export async function sendTestNotice(config: Config): Promise<Result<string, string>> {
  const { sendNotice, noticeTarget, targetWords } = await loadNotices();
  const target = noticeTarget(config.notices);
  if (target === null) return failure("NOTIFY_URL is not set");
  const now = systemClock();
  const sent = await sendNotice(
    {
      id: randomId(),
      kind: "test",
      time: now,
      title: "Notices work",
      text: "Sent by `portcullis notify test`.",
      url: `${serverUrlFor(config.http, config.http.port)}/console`,
    },
    target,
    { fetch, now },
  );
  return sent.ok ? success(targetWords(target)) : failure(`${targetWords(target)} ${sent.problem}`);
}
