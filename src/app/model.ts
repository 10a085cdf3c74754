/** The local model, wired. Its code is loaded at the first call of it. */
import type { Bounds } from "./bounds.ts";
import type { Config } from "./config/config.ts";
import { loadOnce } from "../lib/load_once.ts";
import type { Clock } from "../lib/clock.ts";
import { ollamaLimits } from "../llm/limits.ts";
import type { LocalModel } from "../llm/port.ts";
import type { Telemetry } from "../audit/telemetry.ts";

interface ModelParts {
  readonly telemetry: Telemetry;
  readonly bounds?: Bounds;
  readonly clock: Clock;
}

interface OpenedModel {
  readonly model: LocalModel;
  close(): void | Promise<void>;
}

export function openModel(config: Config, parts: ModelParts): OpenedModel {
  const load = loadOnce(() => loadModel(config, parts));
  return {
    model: {
      maxPromptBytes: limitsOf(parts).maxPromptBytes,
      async *generate(request, call) {
        yield* (await load()).model.generate(request, call);
      },
      async *chat(request, call) {
        yield* (await load()).model.chat(request, call);
      },
      async *embed(request, call) {
        yield* (await load()).model.embed(request, call);
      },
      report: async (signal) => await (await load()).model.report(signal),
    },
    close: () => load.ifLoaded(({ close }) => close()),
  };
}

async function loadModel(config: Config, parts: ModelParts): Promise<OpenedModel> {
  const [{ createOllamaClient }, { createLocalModel }, { createModelQueue }] = await Promise.all([
    import("../llm/client.ts"),
    import("../llm/local_model.ts"),
    import("../llm/model_queue.ts"),
  ]);
  const { telemetry: { tracer, fetch }, clock } = parts;
  const limits = limitsOf(parts);
  const ollama = createOllamaClient({ ...config.ollama, fetch, clock, limits });
  const client = tracer.exports ? (await import("../audit/traced_model.ts")).traceModel(ollama, tracer) : ollama;
  const model = createLocalModel({
    client,
    queue: createModelQueue({ maxInFlight: config.ollama.maxConcurrent, clock, limits }),
    totalMs: generationMs(config.mcp.toolTimeoutSeconds * 1_000),
    limits,
    clock,
    random: Math.random,
  });
  return { model, close: ollama.close };
}

function limitsOf({ bounds }: ModelParts): typeof ollamaLimits {
  return { ...ollamaLimits, ...bounds?.ollama };
}

/** How long before the end of its call a generation stops, so that the caller still gets what the model wrote. */
const generationMarginMs = 2_000;

/** How long a generation may take. */
function generationMs(toolTimeoutMs: number): number {
  return Math.max(toolTimeoutMs - generationMarginMs, toolTimeoutMs / 2);
}
