/** The tool `llm_models`: which models there are, loaded, and allowed. */
import * as z from "zod";
import { defineTool, type Tool, type ToolOutcome } from "../../mcp/tool.ts";
import { describeModels, type DescribeModelsOptions, type ModelEntry } from "../../ollama/models_report.ts";

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
const report = z.lazy(() => z.object({ models: z.array(modelEntry), server }));

export function llmModelsTool(options: DescribeModelsOptions): Tool {
  return defineTool({
    name: "llm_models",
    title: "List the local models",
    description: "Lists the models for llm_generate: installed, in memory, allowed.",
    scopes: ["llm:generate"],
    annotations: {
      title: "List the local models",
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    input: z.lazy(() => z.object({})),
    output: report,
    async run(_input, { signal }): Promise<ToolOutcome> {
      const described = await describeModels(options, signal);
      const { models, server: { problem } } = described;
      if (problem !== undefined) return { ok: false, code: "ollama_unreachable", message: problem };
      return {
        ok: true,
        content: [{ type: "text", text: models.map(toLine).join("\n") }],
        structuredContent: { ...described },
      };
    },
  });
}

/** One line a model: what it can do, and whether it can be asked. */
function toLine({ name, installed, loaded, allowed, parameter_size: size, capabilities = [] }: ModelEntry): string {
  const about = [...size === undefined ? [] : [size], ...capabilities].join(", ");
  const state = installed ? (loaded ? "installed, in memory" : "installed") : `missing: ollama pull ${name}`;
  return `${name}${about === "" ? "" : ` (${about})`}: ${state}${allowed ? "" : ", not allowed by the operator"}`;
}
