/** The composition root of `stdio`: a configuration and an opened installation in, one client served over two pipes. */
import { closeAll } from "../lib/result.ts";
import { ownerId } from "../oauth/mod.ts";
import type { Config } from "./config/config.ts";
import { type Installation, logConfinement, type Parts } from "./installation.ts";
import { systemTimers } from "../lib/time.ts";
import type { Principal } from "../lib/principal.ts";
import { openServicenow, scopesOf } from "./servicenow_wiring.ts";
import { createProtocolServer, maxMessageBytes, openCallRecords, settle } from "./protocol_server.ts";
import { serverUrlFor } from "./server_url.ts";
import { serveStdio } from "../mcp/mod.ts";
import { startTelemetry } from "../audit/mod.ts";
import { openApproval } from "./approval.ts";
import { createToolbox, startSweeping, type Toolbox } from "./toolbox.ts";
import { version } from "../lib/version.ts";

/** A user who can start the program can read its data directory, and so is the owner already: there is nothing to grant. */
const owner: Omit<Principal, "scopes"> = {
  subject: ownerId,
  clientId: "stdio",
  grantId: "stdio",
  tokenId: "stdio",
  keyId: null,
  expiresAt: Number.MAX_SAFE_INTEGER,
};

/** Serves until the input ends or `stop` aborts. Throws `UnusableError` where it cannot begin. */
export async function runStdio(
  config: Config,
  dependencies: Installation & Pick<Parts, "kernel" | "log" | "clock"> & {
    readonly input: ReadableStream<Uint8Array>;
    readonly output: WritableStream<Uint8Array>;
    readonly stop: AbortSignal;
    /** For tests. */
    readonly bounds?: Parts["bounds"];
  },
): Promise<void> {
  const { input, output, stop, log, clock, bounds = {} } = dependencies;
  logConfinement(config.workspace, dependencies.kernel, log);
  const telemetry = startTelemetry(config, { version, log });
  const serverUrl = serverUrlFor(config.http, config.http.port);
  const parts: Parts = { ...dependencies, serverUrl, telemetry, timers: systemTimers, bounds, extraTools: [] };
  const servicenow = await openServicenow(config.servicenow, parts);
  const approval = await openApproval(config, {
    ...parts,
    nameOfClient: () => undefined,
    isLive: () => Promise.resolve(true),
    isGrantLive: () => Promise.resolve(true),
    isAdministrator: () => Promise.resolve(true),
    workspace: (principal) => toolbox.workspace(principal),
  });
  const opening = createToolbox(config, { ...parts, ...approval, servicenow });
  opening.catch(approval.close);
  const toolbox: Toolbox = await opening;
  const { serverUrl: _, ...withoutClients } = parts;
  const records = await openCallRecords(config, { ...withoutClients, steadyNow: clock, isSteady: () => true });
  const { live: { callWatch }, recordRequest } = records;
  const stopSweeping = startSweeping(parts, toolbox, clock);
  const mcp = createProtocolServer(config, {
    ...parts,
    ...toolbox,
    tools: toolbox.tools.map(approval.gate),
    resources: [...toolbox.resources, approval.view],
    log: records.log,
    recordRequest,
    callWatch,
  });
  try {
    await serveStdio({
      mcp,
      input,
      output,
      principal: { ...owner, scopes: new Set(scopesOf(config.servicenow)) },
      createRequestId: () => crypto.randomUUID(),
      log,
      stop,
      maxLineBytes: maxMessageBytes(config.workspace),
      finishTimeoutMs: config.server.shutdownTimeoutSeconds * 1_000,
    });
  } finally {
    stopSweeping();
    await closeAll(
      () => settle(parts, [servicenow?.links.settled()]),
      ...[mcp.close, approval.close, records.close, servicenow?.close, toolbox.close],
    );
  }
}
