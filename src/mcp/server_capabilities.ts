/** The capabilities that the server declares: only what it can do. */
import { tasksExtension } from "./client_capabilities.ts";

export interface ServerFeatures {
  readonly tools: true;
  readonly prompts: boolean;
  readonly resources: boolean;
  /** Which resource-change notices we can send at the moment. */
  readonly resourceNotices: () => ResourceNotices;
  /** Extensions (SEP-2133) beside those of the protocol layer itself, by identifier. */
  readonly extensions: readonly string[];
}

/** Which resource-change notices we can send. */
export interface ResourceNotices {
  /** Of some resource's content. */
  readonly ofResources: boolean;
  /** That resources appear and disappear. */
  readonly ofLists: boolean;
}

/** The capabilities of a server; `announces`: whether this client has a stream for notices. */
export function encodeServerCapabilities(
  { prompts, resources, resourceNotices }: ServerFeatures,
  announces: boolean,
): Readonly<Record<string, unknown>> {
  const { ofLists, ofResources } = resourceNotices();
  return {
    tools: { listChanged: announces },
    logging: {},
    ...(prompts ? { prompts: { listChanged: announces } } : {}),
    ...(resources ? { resources: { listChanged: announces && ofLists, subscribe: announces && ofResources } } : {}),
    ...(prompts || resources ? { completions: {} } : {}),
  };
}

/** The same for the modern era, where every client can subscribe to notices and take tasks. */
export function encodeModernCapabilities(features: ServerFeatures): Readonly<Record<string, unknown>> {
  const extensions = Object.fromEntries([tasksExtension, ...features.extensions].map((id) => [id, {}]));
  return { ...encodeServerCapabilities(features, true), extensions };
}
