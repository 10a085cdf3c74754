/** The tools and resources that a configuration gives, each wired to its adapter. */
import { join } from "node:path";
import type { Config } from "./config/config.ts";
import { ollamaLimitsOf, workspaceLimitsOf } from "./configured_limits.ts";
import type { Prompt } from "./mcp/prompt.ts";
import type { Log } from "./lib/log.ts";
import type { ResourceFamily } from "./mcp/resource.ts";
import type { Tool } from "./mcp/tool.ts";
import { createAdmission } from "./ollama/admission.ts";
import { createOllamaClient, type OllamaClient } from "./ollama/client.ts";
import type { OllamaHost } from "./ollama/host.ts";
import { createLocalModel } from "./ollama/local_model.ts";
import { servicenowPrompts } from "./prompts/servicenow.ts";
import { llmModelsResource } from "./resources/llm_models.ts";
import { servicenowResources } from "./resources/servicenow.ts";
import { workspaceFilesResource } from "./resources/workspace_files.ts";
import type { ServicenowRecords } from "./servicenow/port.ts";
import { directoryCreateTool } from "./tools/directory_create.ts";
import { fileDeleteTool } from "./tools/file_delete.ts";
import { fileEditTool } from "./tools/file_edit.ts";
import { fileInfoTool } from "./tools/file_info.ts";
import { fileListTool } from "./tools/file_list.ts";
import { fileCopyTool, fileMoveTool } from "./tools/file_move.ts";
import { fileReadManyTool } from "./tools/file_read_many.ts";
import { fileReadTool } from "./tools/file_read.ts";
import { fileSearchTool } from "./tools/file_search.ts";
import { fileWriteTool } from "./tools/file_write.ts";
import { workspaceImages } from "./tools/llm_image.ts";
import { llmTools } from "./tools/llm_tools.ts";
import { workspaceFiles } from "./tools/servicenow_files.ts";
import { servicenowTools } from "./tools/servicenow_tools.ts";
import type { AccessPatterns } from "./workspace/access_rules.ts";
import { createDiskWatch } from "./workspace/disk_watch.ts";
import { openDiskWorkspace } from "./workspace/disk_workspace.ts";
import type { Workspace, WorkspaceSource } from "./workspace/port.ts";
import { createWorkspaceWatches, type WorkspaceWatches } from "./workspace/shared_watch.ts";
import { createUserWorkspaces, userDirectoryName } from "./workspace/user_workspaces.ts";

/** Tools and what they hold open. */
export interface Toolbox {
  readonly tools: readonly Tool[];
  readonly resources: readonly ResourceFamily[];
  readonly prompts: readonly Prompt[];
  close(): Promise<void>;
}

/** Opens the adapters and builds the tools. Throws when the workspace directory cannot be made or used. */
export function createToolbox(config: Config, servicenow: ServicenowRecords | null, log: Log): Toolbox {
  const { source: workspace, close: closeWorkspaces } = openWorkspaces(config);
  const watches = config.workspaceWatch ? watchWorkspaces(config, log) : undefined;
  const clock = (): number => performance.now();
  const limits = ollamaLimitsOf(config);
  const walkMilliseconds = config.fileWalkTimeoutSeconds * 1_000;
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
  const models = { model, models: config.llmModels, embeddingModels: config.llmEmbeddingModels ?? [] };
  const records = servicenow === null ? null : servicenowResources(servicenow);
  return {
    resources: [
      workspaceFilesResource(workspace, watches),
      llmModelsResource(models),
      ...(records === null ? [] : [records]),
    ],
    prompts: records === null ? [] : servicenowPrompts(records.read),
    tools: [
      fileReadTool(workspace),
      fileReadManyTool(workspace),
      fileWriteTool(workspace),
      fileListTool(workspace, { maxListMilliseconds: walkMilliseconds }),
      fileInfoTool(workspace),
      fileEditTool(workspace),
      fileMoveTool(workspace),
      fileCopyTool(workspace),
      fileDeleteTool(workspace),
      directoryCreateTool(workspace),
      fileSearchTool(workspace, { maxSearchMilliseconds: walkMilliseconds }),
      ...llmTools({ ...models, readImage: workspaceImages(workspace), clock }),
      ...(servicenow === null ? [] : servicenowTools(servicenow, {
        files: workspaceFiles(workspace),
        writing: config.servicenowWrite,
      })),
    ],
    async close() {
      for (const client of clients) client.close();
      await watches?.close();
      await closeWorkspaces();
    },
  };
}

interface OpenedWorkspaces {
  readonly source: WorkspaceSource;
  close(): Promise<void>;
}

/** One workspace for everybody, or a directory for each user, opened when its user first comes. */
function openWorkspaces(config: Config): OpenedWorkspaces {
  const open = (root: string): Workspace =>
    openDiskWorkspace({
      root,
      limits: workspaceLimitsOf(config),
      access: accessOf(config),
      hardLinks: config.hardLinks,
    });
  if (config.workspaces === "shared") {
    const workspace = open(config.workspaceDir);
    return { source: workspace, close: () => workspace.close() };
  }
  const users = createUserWorkspaces((name) => open(join(config.workspaceDir, name)));
  return { source: (principal) => users.of(principal), close: () => users.close() };
}

/** Watches of what {@link openWorkspaces} opens: they begin when somebody wants to hear of changes. */
function watchWorkspaces(config: Config, log: Log): WorkspaceWatches {
  const onFailure = (error: unknown): void => log.write("error", "workspace_watch_failed", { error: String(error) });
  const isShared = config.workspaces === "shared";
  return createWorkspaceWatches({
    nameOf: ({ subject }) => isShared ? "" : userDirectoryName(subject),
    open: (name) =>
      createDiskWatch({
        root: join(config.workspaceDir, name),
        access: accessOf(config),
        coalesceMilliseconds: config.watchDelayMilliseconds,
        maxPaths: config.watchMaxPaths,
        maxDirectories: config.watchMaxDirectories,
        onFailure,
      }),
    onFailure,
  });
}

function accessOf({ deniedNames, protectedNames }: Config): AccessPatterns {
  return { denied: deniedNames ?? [], protected: protectedNames };
}
