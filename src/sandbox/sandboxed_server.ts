/** The main thread's side of the wall: starts the server in a worker of few permissions, and gives up its own. */
import { internet } from "../authorization_server/internet.ts";
import { createDocumentFetcher } from "../authorization_server/public_document.ts";
import type { Config } from "../config/config.ts";
import { documentLimitsOf } from "../configured_limits.ts";
import type { Failed, FromWorker, Ready, Refused, ToWorker } from "./messages.ts";
import { giveUp, permissionNames } from "./own_permissions.ts";
import { realPathOf, serverPermissions } from "./permissions.ts";

/** A server behind the wall. */
export interface SandboxedServer {
  /** How the start went. */
  readonly started: Promise<Ready | Refused | Failed>;
  /** Resolves when the server has ended: in good order after {@link stop}, else with the reason. */
  readonly ended: Promise<{ readonly kind: "stopped" } | Failed>;
  /** Asks it to finish. */
  stop(): void;
}

/**
 * Starts the worker. `entry` is a module that calls `runServerInWorker`; its code is loaded with the permissions of
 * this thread and runs with its own. When it is there, this thread gives up everything, and only then does the server
 * get its configuration: nothing is opened and nobody is answered before.
 */
export function startSandboxedServer(config: Config, entry: URL): SandboxedServer {
  const started = Promise.withResolvers<Ready | Refused | Failed>();
  const ended = Promise.withResolvers<{ readonly kind: "stopped" } | Failed>();
  const { net, read, write, ...never } = serverPermissions(config, realPathOf);
  const permissions = { net: [...net], read: [...read], write: [...write], ...never };
  const worker = new Worker(entry, { type: "module", name: "server", deno: { permissions } });
  const send = (message: ToWorker): void => worker.postMessage(message);
  const fetchDocument = config.clientMetadataDocuments
    ? createDocumentFetcher(internet, documentLimitsOf(config))
    : null;
  const fail = (failed: Failed): void => {
    started.resolve(failed);
    ended.resolve(failed);
  };
  worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    switch (data.kind) {
      case "loaded":
        // With metadata documents, this thread keeps the network, for nothing but the checked fetch below.
        giveUp(permissionNames.filter((name) => name !== "net" || fetchDocument === null));
        return send({ kind: "start", config });
      case "fetch_document":
        if (!URL.canParse(data.url)) return; // the server parses it first; a tool that is broken may not
        return void fetchDocument?.(data.url).then((document) => send({ kind: "document", id: data.id, document }));
      case "ready":
      case "refused":
        return started.resolve(data);
      case "stopped":
        return ended.resolve(data);
      case "failed":
        return fail(data);
    }
  };
  worker.onerror = (event) => {
    event.preventDefault(); // Deno has printed it, with its stack
    fail({ kind: "failed", reason: event.message });
  };
  return { started: started.promise, ended: ended.promise, stop: () => send({ kind: "stop" }) };
}
