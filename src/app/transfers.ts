/** Links for files, wired. Their code is loaded for the first link. */
import type { Bounds } from "./bounds.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { loadOnce } from "../lib/load_once.ts";
import { refusalWords } from "../files/tools/refusal.ts";
import type { TransferLinks } from "../files/transfer/port.ts";
import type { TransfersOptions } from "../files/transfer/transfers.ts";
import type { WorkspaceSource } from "../files/workspace/port.ts";

/** The tools' way to make links, and the endpoint at which they are used. */
export interface OpenedTransfers {
  readonly links: TransferLinks;
  readonly endpoint: Endpoint;
  /** Admits no more; resolves when those that run have ended, or after so many milliseconds. */
  finish(milliseconds: number): Promise<void>;
  close(): Promise<void>;
}

interface TransferParts extends Pick<TransfersOptions, "storage" | "clock" | "log"> {
  readonly transferBy: Pick<TransfersOptions, "serverUrl" | "secrets" | "access" | "timers">;
  readonly bounds?: Bounds;
}

export function openTransfers(
  source: WorkspaceSource,
  { transferBy, storage, clock, log, bounds }: TransferParts,
): OpenedTransfers {
  const limits = bounds?.transfers ?? {};
  const load = loadOnce(async () =>
    (await import("../files/transfer/transfers.ts"))
      .createTransfers({ ...transferBy, source, storage, clock, log, limits, refusalWords })
  );
  return {
    links: {
      forDownload: async (principal, path) => await (await load()).links.forDownload(principal, path),
      forUpload: async (principal, path, rule) => await (await load()).links.forUpload(principal, path, rule),
    },
    endpoint: async (request, peer) => await (await load()).endpoint(request, peer),
    finish: (milliseconds) => load.ifLoaded(({ finish }) => finish(milliseconds)),
    close: () => load.ifLoaded(({ close }) => close()),
  };
}
