/** Reads and writes stored links; the only place that seals and opens them. */
import type { Log } from "../../lib/log/log.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import type { SecretBox } from "../../lib/secret_box.ts";
import type { Put, Storage, VersionCheck } from "../../storage/port.ts";
import type { ServicenowInstance } from "../instance.ts";
import { linkKey, type LinkSecrets, openLink, parseLinkRecord, sealLink } from "./link_record.ts";

/** A link as it was read, with the condition that it is still so. */
interface StoredLink {
  readonly link: LinkSecrets;
  readonly linkedAt: number;
  readonly unchanged: VersionCheck;
}

export interface LinkStore {
  read(subject: string): Promise<Result<StoredLink, { readonly reason: "not_linked" | "link_expired" }>>;
  /** The write of a link; `null` leaves only the fact that there was one. */
  put(subject: string, link: LinkSecrets | null, linkedAt: number): Put;
}

export function createLinkStore(options: {
  readonly instance: ServicenowInstance;
  readonly storage: Storage;
  readonly secrets: SecretBox;
  /** Boxes of earlier master keys: links sealed under them still open, until `resealLinks` has been over them. */
  readonly previousSecrets?: readonly SecretBox[];
  readonly log: Log;
}): LinkStore {
  const { instance: { origin }, storage, secrets, previousSecrets = [], log } = options;
  return {
    async read(subject) {
      const entry = await storage.get(linkKey(subject));
      if (entry === null) return failure({ reason: "not_linked" });
      const { sealed, linkedAt, instance } = parseLinkRecord(entry.value);
      if (instance !== origin) return failure({ reason: "not_linked" });
      if (sealed === null) return failure({ reason: "link_expired" });
      for (const box of [secrets, ...previousSecrets]) {
        const link = openLink(box, subject, origin, sealed);
        if (link !== null) {
          return success({ link, linkedAt, unchanged: { key: entry.key, version: entry.version } });
        }
      }
      log.write("error", "servicenow_link_unreadable", { subject });
      return failure({ reason: "link_expired" }); // sealed under a key that is gone
    },
    put(subject, link, linkedAt) {
      const sealed = link === null ? null : sealLink(secrets, subject, origin, link);
      return { key: linkKey(subject), value: { instance: origin, sealed, linkedAt } };
    },
  };
}
