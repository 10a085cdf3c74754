/** Reads and writes stored links; the only place that seals and opens them. */
import type { Log } from "../lib/log.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { SecretBox } from "../lib/secret_box.ts";
import type { Put, Storage, StoredEntry, VersionCheck } from "../storage/port.ts";
import type { ServicenowInstance } from "./instance.ts";
import type { LinkHealth } from "../oauth/servicenow_port.ts";
import { linkedAccount, linkKey, linkPrefix, type LinkRecord, type LinkSecrets, noRefreshToken, parseLinkRecord, sealedLink } from "./link_record.ts";

/** A link as it was read, with the condition that it is still so. */
interface StoredLink {
  readonly link: LinkSecrets;
  readonly linkedAt: number;
  readonly unchanged: VersionCheck;
}

type FoundLink = Result<StoredLink, { readonly reason: "not_linked" | "link_expired" }>;

export interface LinkStore {
  read(subject: string): Promise<FoundLink>;
  /** Takes the link out. What is found is what was stored last, also where it is renewed at this moment. */
  take(subject: string): Promise<FoundLink>;
  put(subject: string, link: LinkSecrets, times: { readonly linkedAt: number; readonly at: number }): Promise<Put>;
  /** Leaves only the fact that there was a link, and why it ended. */
  putRefused(
    subject: string,
    link: LinkSecrets,
    refusal: { readonly linkedAt: number; readonly at: number; readonly said: string | null },
  ): Promise<Put>;
  /** The links of one person, or of everyone: the first {@link maxListed}. */
  health(subject: string | null): Promise<readonly LinkHealth[]>;
}

const maxListed = 500;

export function createLinkStore(options: {
  readonly instance: ServicenowInstance;
  readonly storage: Storage;
  readonly secrets: SecretBox;
  /** Boxes of earlier master keys: links sealed under them still open, until `resealLinks` has been over them. */
  readonly previousSecrets?: readonly SecretBox[];
  readonly log: Log;
}): LinkStore {
  const { instance: { origin }, storage, secrets, previousSecrets = [], log } = options;
  const openWithAny = async <T>(open: (box: SecretBox) => Promise<T | null>): Promise<T | null> => {
    for (const box of [secrets, ...previousSecrets]) {
      const opened = await open(box);
      if (opened !== null) return opened;
    }
    return null;
  };
  const healthOf = async (subject: string, record: LinkRecord): Promise<LinkHealth> => {
    const { sealed, linkedAt, renewedAt = linkedAt, refused } = record;
    const account = sealed !== null
      ? (await openWithAny((box) => sealedLink.open(box, subject, origin, sealed)))?.account ?? null
      : refused === undefined
      ? null
      : await openWithAny((box) => linkedAccount.open(box, subject, origin, refused.sealedAccount));
    const ended = refused?.said === noRefreshToken ? "no_refresh_token" : "refused";
    return {
      subject,
      state: sealed === null ? ended : account === null ? "unreadable" : "linked",
      account,
      linkedAt,
      renewedAt,
      refusedAt: refused?.at ?? null,
      said: refused?.said === noRefreshToken ? null : refused?.said ?? null,
    };
  };
  const open = async (subject: string, entry: StoredEntry | null): Promise<FoundLink> => {
    if (entry === null) return failure({ reason: "not_linked" });
    const { sealed, linkedAt, instance } = parseLinkRecord(entry.value);
    if (instance !== origin) return failure({ reason: "not_linked" });
    if (sealed === null) return failure({ reason: "link_expired" });
    const link = await openWithAny((box) => sealedLink.open(box, subject, origin, sealed));
    if (link !== null) return success({ link, linkedAt, unchanged: { key: entry.key, version: entry.version } });
    log.write("error", "servicenow_link_unreadable", { subject });
    return failure({ reason: "link_expired" }); // sealed under a key that is gone
  };
  return {
    read: async (subject) => await open(subject, await storage.get(linkKey(subject))),
    take: async (subject) => await open(subject, await storage.consume(linkKey(subject))),
    async put(subject, link, { linkedAt, at }) {
      const sealed = await sealedLink.seal(secrets, subject, origin, link);
      return { key: linkKey(subject), value: { instance: origin, sealed, linkedAt, renewedAt: at } };
    },
    async putRefused(subject, { account }, { linkedAt, at, said }) {
      const refused = { at, said, sealedAccount: await linkedAccount.seal(secrets, subject, origin, account) };
      return { key: linkKey(subject), value: { instance: origin, sealed: null, linkedAt, refused } };
    },
    async health(subject) {
      const entry = subject === null ? null : await storage.get(linkKey(subject));
      const entries = subject === null ? await storage.list(linkPrefix, { limit: maxListed }) : entry ? [entry] : [];
      const healths: LinkHealth[] = [];
      for (const { key, value } of entries) {
        const record = parseLinkRecord(value);
        if (record.instance === origin) healths.push(await healthOf(key.at(-1) ?? "", record));
      }
      return healths;
    },
  };
}
