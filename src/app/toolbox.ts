/** The tools and resources that a configuration gives, each wired to its adapter. */
import { loadServicenowTools, type ServicenowRecords } from "../servicenow/mod.ts";
import { loadTracedModel, type Telemetry } from "../audit/mod.ts";
import {
  createLocalModel,
  createModelQueue,
  createOllamaClient,
  llmModelsResource,
  llmTools,
  type LocalModel,
  ollamaLimits,
} from "../llm/mod.ts";
import type { Bounds } from "./bounds.ts";
import type { Config } from "./config/config.ts";
import type { Clock } from "../lib/time.ts";
import type { Installation } from "./installation.ts";
import {
  fileDeleteTool,
  fileEditTool,
  fileListTool,
  fileMoveTool,
  fileReadTool,
  fileSearchTool,
  fileUndoTool,
  fileWriteTool,
  type KernelAccess,
  workspaceFilesResource,
  type WorkspaceSource,
} from "../files/mod.ts";
import { createParallelShare } from "../lib/parallel_share.ts";
import { shareKey } from "../lib/principal.ts";
import type { Log } from "../lib/log.ts";
import type { Prompt, ResourceFamily, Tool } from "../mcp/mod.ts";
import { type OpenedTransfers, openTransfers } from "./http_side.ts";
import { keepsChanges, openWorkspaces, watchWorkspaces } from "./workspaces.ts";

/** Wires the local model. */
async function openModel(
  config: Config,
  { telemetry: { tracer, fetch }, bounds, clock }: Pick<ToolboxDependencies, "telemetry" | "bounds" | "clock">,
): Promise<{ readonly model: LocalModel; close(): void }> {
  const limits = { ...ollamaLimits, ...bounds?.ollama };
  const ollama = createOllamaClient({ ...config.ollama, fetch, clock, limits });
  const model = createLocalModel({
    client: tracer.exports ? (await loadTracedModel()).traceModel(ollama, tracer) : ollama,
    queue: createModelQueue({ clock, limits }),
    totalMs: generationMs(config.mcp.toolTimeoutSeconds * 1_000),
    limits,
    clock,
    random: Math.random,
  });
  return { model, close: ollama.close };
}

/** How long before the end of its call a generation stops, so that the caller still gets what the model wrote. */
const generationMarginMs = 2_000;

/** How long a generation may take. */
function generationMs(toolTimeoutMs: number): number {
  return Math.max(toolTimeoutMs - generationMarginMs, toolTimeoutMs / 2);
}

/** Tools and what they hold open. */
export interface Toolbox {
  readonly tools: readonly Tool[];
  readonly resources: readonly ResourceFamily[];
  readonly prompts: readonly Prompt[];
  readonly model: LocalModel;
  readonly workspace: WorkspaceSource;
  /** Serves the tools' links; `null` without an address to build them from. */
  readonly transfers: OpenedTransfers | null;
  /** Whether the files can be reached. */
  isWorkspaceThere(): Promise<boolean>;
  /** Drops what the workspaces keep for too long. */
  tidy(now: number): Promise<void>;
  close(): Promise<void>;
}

interface ToolboxDependencies extends Pick<Installation, "storage"> {
  readonly servicenow: ServicenowRecords | null;
  readonly log: Log;
  readonly bounds?: Bounds;
  readonly kernel?: KernelAccess | undefined;
  readonly telemetry: Telemetry;
  /** The time of day, for the files of a workspace in the storage. */
  readonly clock: Clock;
  /** The rules about what is read, for prompts too. */
  gateResources(family: ResourceFamily): ResourceFamily;
  /** Where there is an HTTP server to move files through. */
  readonly transferBy?: Parameters<typeof openTransfers>[1]["transferBy"];
}

/** Calls of one caller that work on files at the same time. */
const maxFileCallsAtOnce = 4;

/** Opens the adapters and builds the tools. Rejects when the workspace directory cannot be made or used. */
export async function createToolbox(config: Config, dependencies: ToolboxDependencies): Promise<Toolbox> {
  const { servicenow } = dependencies;
  const opened = await openWorkspaces(config.workspace, dependencies);
  const { source: workspace, tidy, close: closeWorkspaces } = opened;
  const watches = await watchWorkspaces(config.workspace, dependencies);
  const { transferBy } = dependencies;
  const transfers = transferBy === undefined ? null : openTransfers(workspace, { ...dependencies, transferBy });
  const links = transfers?.links ?? null;
  const clock = (): number => performance.now();
  const { model, close: closeModel } = await openModel(config, { ...dependencies, clock });
  const models = { model, models: config.ollama.models };
  const records = servicenow === null ? null : (await loadServicenowTools()).servicenowOffer(servicenow, {
    workspace,
    writing: config.servicenow.write,
    gateResources: dependencies.gateResources,
  });
  const share = createParallelShare(maxFileCallsAtOnce);
  const inShare = (tool: Tool): Tool => ({
    ...tool,
    run: (input, context) => share(shareKey(context.principal), () => tool.run(input, context), () => context.signal),
  });
  const fileTools = [
    fileReadTool(workspace, links),
    fileWriteTool(workspace, links),
    fileListTool(workspace),
    fileEditTool(workspace),
    fileMoveTool(workspace),
    fileSearchTool(workspace),
    ...keepsChanges(config.workspace) ? [fileUndoTool(workspace)] : [],
  ];
  return {
    model,
    workspace,
    resources: [
      dependencies.gateResources(workspaceFilesResource(workspace, watches)),
      dependencies.gateResources(llmModelsResource(models)),
      ...(records === null ? [] : [records.resources]),
    ],
    prompts: records === null ? [] : records.prompts,
    tools: [
      ...fileTools.map(inShare),
      fileDeleteTool(workspace, { isKept: keepsChanges(config.workspace) }), // may wait for a person
      ...llmTools({ ...models, workspace, clock }),
      ...(records === null ? [] : records.tools),
    ],
    transfers,
    tidy,
    isWorkspaceThere: opened.isThere,
    async close() {
      await transfers?.close();
      closeModel();
      await watches.close();
      await closeWorkspaces();
    },
  };
}
