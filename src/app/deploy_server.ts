/**
 * The server as Deno Deploy runs it: in this isolate, since there are no flags for a worker's permissions, with every
 * permission at first, and with the network alone once its storage is open.
 */
import process from "node:process";
import { createDocumentFetcher, createInternet } from "../lib/document_fetcher.ts";
import type { Config } from "./config/config.ts";
import { type RunningServer, startServer, type StartServerOptions } from "./running_server.ts";
import { confineThisIsolate, giveUp } from "./sandbox/permissions.ts";

/** Of PostgreSQL for each instance: the platform starts several, and its smallest plan has ten connections. */
const connections = 3;

/** Starts it, then confines the whole process: no code can read a file or a variable any more. */
export async function startDeployServer(
  config: Config,
  { log, clock, extraTools }: Pick<StartServerOptions, "log" | "clock" | "extraTools">,
): Promise<RunningServer> {
  return await startServer(config, {
    log,
    clock,
    extraTools,
    bounds: { storage: { postgres: { connections } } },
    fetchDocument: createDocumentFetcher(createInternet(), () => performance.now()),
    onInstallationOpen: () => {
      confineThisIsolate();
      process.env = {}; // libraries that look for their variables find none, instead of an exception
      giveUp(["env"]); // MASTER_KEY and DATABASE_URL are among them
    },
  });
}
