/** Which models there are, loaded and allowed: what the hosts have, held against the operator's allow list. */
import type { HostReport, LocalModel } from "./port.ts";

/** One model, with the names that callers see. */
export interface ModelEntry {
  readonly name: string;
  readonly installed: boolean;
  /** It is in memory. */
  readonly loaded: boolean;
  /** The operator allows calls of it. */
  readonly allowed: boolean;
  /** The origins of the hosts that have it. */
  readonly hosts: readonly string[];
  readonly size_bytes?: number;
  readonly parameter_size?: string;
  readonly quantization?: string;
  readonly family?: string;
  readonly capabilities?: readonly string[];
}

/** One host; `problem` says what to do about it. */
export interface HostEntry {
  readonly host: string;
  readonly ok: boolean;
  readonly version?: string;
  readonly problem?: string;
}

/** What {@link describeModels} tells. */
export interface ModelsReport {
  readonly models: readonly ModelEntry[];
  readonly hosts: readonly HostEntry[];
}

export interface DescribeModelsOptions {
  readonly model: LocalModel;
  /** The operator's allow list. */
  readonly models: readonly string[];
  readonly embeddingModels?: readonly string[];
}

/** Asks every host now. Allowed models come first, in the operator's order. */
export async function describeModels(options: DescribeModelsOptions, signal: AbortSignal): Promise<ModelsReport> {
  const hosts = await options.model.report(signal);
  const allowed = [...options.models, ...options.embeddingModels ?? []];
  const others = [...new Set(hosts.flatMap((host) => host.installed.map((it) => it.name)))]
    .filter((name) => !allowed.some((it) => isSame(it, name))).sort();
  return {
    models: [
      ...allowed.map((name) => describe(name, true, hosts)),
      ...others.map((name) => describe(name, false, hosts)),
    ],
    hosts: hosts.map(({ origin, version, failure }) => ({
      host: origin,
      ok: failure === undefined,
      ...(version === undefined ? {} : { version }),
      ...(failure === undefined ? {} : { problem: failure.message }),
    })),
  };
}

function describe(name: string, allowed: boolean, hosts: readonly HostReport[]): ModelEntry {
  const having = hosts.filter((host) => host.installed.some((it) => isSame(it.name, name)));
  const details = having[0]?.installed.find((it) => isSame(it.name, name));
  return {
    name,
    installed: having.length > 0,
    loaded: hosts.some((host) => host.loaded.some((it) => isSame(it.name, name))),
    allowed,
    hosts: having.map((host) => host.origin),
    ...(details?.sizeBytes === undefined ? {} : { size_bytes: details.sizeBytes }),
    ...(details?.parameterSize === undefined ? {} : { parameter_size: details.parameterSize }),
    ...(details?.quantization === undefined ? {} : { quantization: details.quantization }),
    ...(details?.family === undefined ? {} : { family: details.family }),
    ...(details?.capabilities === undefined ? {} : { capabilities: details.capabilities }),
  };
}

/** A name without a tag means `latest`. */
function isSame(a: string, b: string): boolean {
  const whole = (name: string): string => name.includes(":") ? name : `${name}:latest`;
  return whole(a) === whole(b);
}
