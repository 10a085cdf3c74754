/** Which models there are, loaded and allowed: what the server has, compared with the operator's allow list. */
import type { HostReport, LocalModel } from "./port.ts";

/** One model, with the names that callers see. */
export interface ModelEntry {
  readonly name: string;
  readonly installed: boolean;
  /** It is in memory. */
  readonly loaded: boolean;
  /** The operator allows calls of it. */
  readonly allowed: boolean;
  readonly size_bytes?: number;
  readonly parameter_size?: string;
  readonly quantization?: string;
  readonly family?: string;
  readonly capabilities?: readonly string[];
}

/** The server; `problem` says what to do about it. */
interface HostEntry {
  readonly address: string;
  readonly ok: boolean;
  readonly version?: string;
  readonly problem?: string;
}

export interface ModelsReport {
  readonly models: readonly ModelEntry[];
  readonly server: HostEntry;
}

export interface DescribeModelsOptions {
  readonly model: LocalModel;
  /** The operator's allow list. */
  readonly models: readonly string[];
  readonly embeddingModels?: readonly string[];
}

/** Asks the server now. Allowed models come first, in the operator's order. */
export async function describeModels(options: DescribeModelsOptions, signal: AbortSignal): Promise<ModelsReport> {
  const host = await options.model.report(signal);
  const { origin, version, failure, installed } = host;
  const allowed = [...options.models, ...options.embeddingModels ?? []];
  const others = installed.map(({ name }) => name).filter((name) => !allowed.some((it) => isSame(it, name))).sort();
  return {
    models: [
      ...allowed.map((name) => describe(name, true, host)),
      ...others.map((name) => describe(name, false, host)),
    ],
    server: {
      address: origin,
      ok: failure === undefined,
      ...(version === undefined ? {} : { version }),
      ...(failure === undefined ? {} : { problem: failure.message }),
    },
  };
}

function describe(name: string, allowed: boolean, { installed, loaded }: HostReport): ModelEntry {
  const details = installed.find((it) => isSame(it.name, name));
  return {
    name,
    installed: details !== undefined,
    loaded: loaded.some((it) => isSame(it.name, name)),
    allowed,
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
