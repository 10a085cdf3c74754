/** `initialize`: the opening of the legacy era. */
import type { Log } from "../lib/log.ts";
import type { McpAnswer } from "./answer.ts";
import { answerResult, type Call } from "./call.ts";
import { latestLegacyRevision, legacyRevisions } from "./revisions/legacy.ts";
import type { ServerInfo } from "./revisions/revision.ts";

/** What the opening answer says about the server. */
export interface InitializeOptions {
  readonly serverInfo: ServerInfo;
  /** One or two sentences for the model. */
  readonly instructions: string;
  readonly log: Log;
}

/** Who a client says it is. It may say nothing: then both are `null`. */
export interface ClientIdentity {
  readonly name: string | null;
  readonly version: string | null;
}

/** Answers `initialize` with the version asked for, or with our latest when we do not speak that one. */
export function answerInitialize(options: InitializeOptions, call: Call): McpAnswer {
  const params = call.request.params as { readonly protocolVersion?: unknown } | null | undefined;
  const asked = typeof params?.protocolVersion === "string" ? params.protocolVersion : null;
  const revision = (asked === null ? undefined : legacyRevisions.get(asked)) ?? latestLegacyRevision;
  const client = clientIdentity(params);
  options.log.write("info", "client_initialized", {
    requestId: call.exchange.requestId,
    client: client.name,
    clientVersion: client.version,
    asked: asked?.slice(0, 40),
    answered: revision.version,
  });
  return answerResult(
    call,
    JSON.stringify({
      protocolVersion: revision.version,
      capabilities: { tools: { listChanged: false } },
      serverInfo: revision.encodeServerInfo(options.serverInfo),
      instructions: options.instructions,
    }),
  );
}

/** The client's name and version out of the params of `initialize`, cut to a length that a log can bear. */
export function clientIdentity(params: unknown): ClientIdentity {
  const info = (params as { readonly clientInfo?: unknown } | null | undefined)?.clientInfo;
  const { name, version } = (typeof info === "object" && info !== null ? info : {}) as Record<string, unknown>;
  return {
    name: typeof name === "string" ? name.slice(0, 100) : null,
    version: typeof version === "string" ? version.slice(0, 100) : null,
  };
}
