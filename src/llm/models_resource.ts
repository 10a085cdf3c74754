/** The resource `llm://models`: which models there are, loaded and allowed, as the tool `llm_models` reports them. */
import type { ResourceFamily } from "../mcp/resource.ts";
import { describeModels, type DescribeModelsOptions } from "./models_report.ts";

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
