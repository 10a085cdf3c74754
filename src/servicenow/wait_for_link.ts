/** A call that waits until its person has linked an account, on whatever instance of the server they do that. */
import type { Log } from "../lib/log.ts";
import { watchEntries } from "../lib/watch_entries.ts";
import type { Storage } from "../storage/port.ts";
import type { Linking } from "./port.ts";
import { linkKey } from "./link_record.ts";
import type { ServicenowLinks } from "./links.ts";

/** Less than the 60 seconds after which most clients give up. */
const linkPatienceMs = 45_000;

export function createLinking(
  { links, storage, log, linkUrl: url, linkMs = linkPatienceMs }: {
    readonly links: ServicenowLinks;
    readonly storage: Storage;
    readonly log: Log;
    readonly linkUrl: string;
    readonly linkMs?: number;
  },
): Linking {
  const isLinked = async (subject: string): Promise<boolean> => (await links.status(subject)).state === "linked";
  return {
    url,
    isLinked,
    async whenLinked(subject, signal) {
      const done = Promise.withResolvers<void>();
      const giveUp = AbortSignal.any([signal, AbortSignal.timeout(linkMs)]);
      const watch = watchEntries(storage, [linkKey(subject)], async () => {
        if (await isLinked(subject)) done.resolve();
      }, { log });
      const stop = (): void => done.resolve();
      giveUp.addEventListener("abort", stop, { once: true });
      if (giveUp.aborted) stop();
      watch.look();
      await done.promise.finally(() => {
        watch.stop();
        giveUp.removeEventListener("abort", stop);
      });
    },
  };
}
