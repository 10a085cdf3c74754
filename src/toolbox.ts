/** The tools that a configuration gives, each wired to its adapter. */
import type { Config } from "./config/config.ts";
import type { Tool } from "./mcp/tool.ts";
import { createAdmission } from "./ollama/admission.ts";
import { createOllamaClient, type OllamaClient } from "./ollama/client.ts";
import type { OllamaHost } from "./ollama/host.ts";
import { defaultOllamaLimits } from "./ollama/limits.ts";
import { createLocalModel } from "./ollama/local_model.ts";
import { fileListTool } from "./tools/file_list.ts";
import { fileReadTool } from "./tools/file_read.ts";
import { fileWriteTool } from "./tools/file_write.ts";
import { llmGenerateTool } from "./tools/llm_generate.ts";
import { openDiskWorkspace } from "./workspace/disk_workspace.ts";

/** Tools and what they hold open. */
export interface Toolbox {
  readonly tools: readonly Tool[];
  close(): Promise<void>;
}

/** Opens the adapters and builds the tools. Throws when the workspace directory cannot be made or used. */
export function createToolbox(config: Config): Toolbox {
  const { maxReadBytes, maxWriteBytes, maxListEntries, hardLinks } = config;
  const workspace = openDiskWorkspace({
    root: config.workspaceDir,
    limits: { maxReadBytes, maxWriteBytes, maxListEntries },
    hardLinks,
  });
  const clock = (): number => performance.now();
  const limits = {
    ...defaultOllamaLimits,
    firstByteSeconds: config.llmFirstByteTimeoutSeconds,
    idleSeconds: config.llmIdleTimeoutSeconds,
    totalSeconds: config.llmTotalTimeoutSeconds,
    maxPromptBytes: config.llmMaxPromptBytes,
    maxOutputBytes: config.llmMaxOutputBytes,
    maxInFlight: config.llmMaxConcurrent,
    maxWaiting: config.llmMaxWaiting,
  };
  const createClient = (host: OllamaHost): OllamaClient =>
    createOllamaClient({
      host,
      ...(config.ollamaApiKey === undefined ? {} : { apiKey: config.ollamaApiKey }),
      fetch,
      avoidProxy: config.hasProxy,
      clock,
      limits,
    });
  const [firstHost, ...otherHosts] = config.ollamaHosts;
  const clients = [createClient(firstHost), ...otherHosts.map(createClient)] as const;
  const model = createLocalModel({ clients, admission: createAdmission(limits), limits, clock, random: Math.random });
  return {
    tools: [
      fileReadTool(workspace),
      fileWriteTool(workspace),
      fileListTool(workspace),
      llmGenerateTool({ model, models: config.llmModels, clock }),
    ],
    async close() {
      for (const client of clients) client.close();
      await workspace.close();
    },
  };
}
