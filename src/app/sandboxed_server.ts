/** The main thread's side of the wall: starts the server in a worker of few permissions, and gives up its own. */
import { createDocumentFetcher, type FetchDocument } from "../lib/document_fetcher.ts";
import type { WriteLines } from "../lib/json_log.ts";
import { programModuleUrl } from "../lib/program.ts";
import { createInternet } from "../lib/public_document.ts";
import type { Config } from "./config/config.ts";
import { giveUp, permissionNames } from "./sandbox/permissions.ts";
import { startServerThread } from "./server_thread.ts";
import type { Failed, Ready, Refused, Stopped } from "./worker_messages.ts";

/** A server behind the wall, whether of one worker or of several. */
export interface SandboxedServer {
  /** How the start went. */
  readonly started: Promise<Ready | Refused | Failed>;
  /** Resolves when the server has ended: in good order after {@link stop}, else with the reason. */
  readonly ended: Promise<Stopped | Failed>;
  /** Asks it to finish. */
  stop(): void;
}

/**
 * Starts the one worker. When its code is there, this thread gives up everything, and only then does the server get
 * its configuration.
 */
export function startSandboxedServer(config: Config, entry: URL, writeLog: WriteLines): SandboxedServer {
  const fetchDocument = documentFetcherOf(config);
  const { started, ended, stop, report } = startServerThread({
    config,
    entry,
    seat: null,
    fetchDocument,
    // The network stays for nothing but the checked fetch of metadata documents.
    onLoaded: () => giveUp(permissionNames.filter((name) => name !== "net" || fetchDocument === null)),
    writeLog,
    gatherReports: async () => [await report()].filter((each) => each !== null),
  });
  return { started, ended, stop };
}

/** The checked fetch of clients' documents, which this thread does for its workers; `null` where it is off. */
export function documentFetcherOf({ authorizationServer }: Config): FetchDocument | null {
  return authorizationServer.clientMetadataDocuments
    ? createDocumentFetcher(createInternet(), () => performance.now())
    : null;
}

/** The module of the worker with the server's own tools. */
export function serverWorkerUrl(): URL {
  return programModuleUrl("src/app/server_worker.ts");
}
