/** Which models there are, loaded and allowed: what the server has, compared with the operator's allow list. */
import * as z from "zod";
import type { HostReport, LocalModel } from "./port.ts";
import type { ResourceFamily } from "../mcp/mod.ts";

const modelEntry = z.lazy(() =>
  z.object({
    name: z.string().describe("What to pass as model"),
    installed: z.boolean(),
    loaded: z.boolean().describe("It is in memory, so that answers begin sooner"),
    allowed: z.boolean().describe("The operator allows calls of it"),
    size_bytes: z.number().optional(),
    parameter_size: z.string().optional(),
    quantization: z.string().optional(),
    family: z.string().optional(),
    capabilities: z.array(z.string()).optional(),
  })
);
const server = z.lazy(() =>
  z.object({
    address: z.string(),
    ok: z.boolean(),
    version: z.string().optional(),
    problem: z.string().optional().describe("What to do about a server that cannot be used"),
  })
);
export const modelsReport = z.lazy(() => z.object({ models: z.array(modelEntry), server }));

export type ModelEntry = z.infer<typeof modelEntry>;
export type ModelsReport = z.infer<typeof modelsReport>;

export interface DescribeModelsOptions {
  readonly model: LocalModel;
  /** The operator's allow list. */
  readonly models: readonly string[];
}

/** Asks the server now. Allowed models come first, in the operator's order. */
export async function describeModels(options: DescribeModelsOptions, signal: AbortSignal): Promise<ModelsReport> {
  const host = await options.model.report(signal);
  const { origin, version, failure, installed } = host;
  const allowed = options.models;
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
    ...(details?.capabilities === undefined ? {} : { capabilities: [...details.capabilities] }),
  };
}

/** A name without a tag means `latest`. */
function isSame(a: string, b: string): boolean {
  const whole = (name: string): string => name.includes(":") ? name : `${name}:latest`;
  return whole(a) === whole(b);
}

// The resource `llm://models`: which models there are, loaded and allowed, as the tool `llm_models` reports them.

const uri = "llm://models";

export function llmModelsResource(options: DescribeModelsOptions): ResourceFamily {
  return {
    name: "llm_models",
    scopes: ["llm:generate"],
    owns: (address) => address.startsWith("llm://"),
    list: () => [{
      uri,
      name: "llm_models",
      title: "Local models",
      description: "The language models of the owner's machine: which are installed, in memory, and allowed",
      mimeType: "application/json",
    }],
    templates: [],
    async read(address, { signal }) {
      if (address !== uri) return null;
      const text = JSON.stringify(await describeModels(options, signal), null, 2);
      return { contents: [{ uri, mimeType: "application/json", text }] };
    },
    cacheHint: { ttlMs: 5_000, cacheScope: "private" },
  };
}
