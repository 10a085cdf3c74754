/** The tools and resources that a configuration gives, each wired to its adapter. */
import { loadServicenowTools, type ServicenowRecords } from "../servicenow/mod.ts";
import { createLocalModel, createModelClient, createModelQueue, llmTools, ollamaLimits } from "../llm/mod.ts";
import type { LocalModel } from "../llm/mod.ts";
import type { Config } from "./config/config.ts";
import { type Clock, soonAndEvery } from "../lib/time.ts";
import type { Parts } from "./installation.ts";
import {
  type Access,
  createDocuments,
  fileDeleteTool,
  fileEditTool,
  fileListTool,
  fileMoveTool,
  fileReadTool,
  fileSearchTool,
  fileUndoTool,
  fileWriteTool,
  loadTransfers,
  refusalWords,
  type TransferLinks,
  workspaceFilesResource,
  type WorkspaceSource,
} from "../files/mod.ts";
import type { Principal } from "../lib/principal.ts";
import type { Approval } from "./approval.ts";
import type { ResourceFamily, Tool } from "../mcp/mod.ts";
import { createFilePlaces, keepsChanges, openWorkspaces } from "./workspaces.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { loadOnce } from "../lib/program.ts";

/** Wires the local model. */
function openModel(config: Config, { telemetry: { fetch }, bounds }: Parts, clock: Clock): LocalModel {
  const limits = { ...ollamaLimits, ...bounds.ollama };
  const client = createModelClient({ ...config.ollama, fetch, limits });
  const model = createLocalModel({
    client,
    queue: createModelQueue({ clock, limits }),
    totalMs: workMs(config),
    limits,
    clock,
    random: Math.random,
  });
  void model.recentReport(); // for the first list of tools, which does not wait
  return model;
}

/** How long before the end of its call work stops, so that the caller still gets what there is. */
const marginMs = 2_000;

/** How long a generation, a listing or a search may take. */
function workMs({ mcp: { toolTimeoutSeconds } }: Config): number {
  return Math.max(toolTimeoutSeconds * 1_000 - marginMs, toolTimeoutSeconds * 500);
}

/** Tools and what they hold open. */
export type Toolbox = Awaited<ReturnType<typeof createToolbox>>;

interface ToolboxParts extends Parts {
  readonly servicenow: ServicenowRecords | null;
  /** The rules about what is read, for prompts too. */
  gateResources(family: ResourceFamily): ResourceFamily;
  readonly judge: Approval["judge"];
  /** Who may use a link to a file, where there is an HTTP server to move files through. */
  readonly transferAccess?: Access;
}

/** How often expired records are removed. */
const sweepIntervalMs = 300_000;

/** Removes now and then what has expired by `steadyNow`, until what is returned is called. */
export function startSweeping(
  { storage, timers, bounds, log }: Pick<Parts, "storage" | "timers" | "bounds" | "log">,
  { tidy }: Pick<Toolbox, "tidy">,
  steadyNow: () => number,
): () => void {
  return soonAndEvery(timers, bounds.sweepIntervalMs ?? sweepIntervalMs, () => {
    const now = steadyNow();
    const sweeping = [storage.sweep(now), tidy(now)];
    for (const each of sweeping) each.catch((error) => log.write("error", "sweep_failed", { error: String(error) }));
  });
}

/** Opens the adapters and builds the tools. Rejects when the workspace directory cannot be made or used. */
export async function createToolbox(config: Config, parts: ToolboxParts) {
  const { servicenow, gateResources, judge, transferAccess } = parts;
  const opened = await openWorkspaces(config.workspace, parts);
  const { source: workspace, tidy, isThere: isWorkspaceThere } = opened;
  const transfers = transferAccess === undefined ? null : openTransfers(workspace, parts, transferAccess);
  const links = transfers?.links ?? null;
  const clock = (): number => performance.now();
  const model = openModel(config, parts, clock);
  const models = { model, models: config.ollama.models };
  const records = servicenow === null ? null : (await loadServicenowTools()).servicenowOffer(servicenow, {
    workspace,
    writing: config.servicenow.write,
    gateResources,
  });
  const places = createFilePlaces();
  const mayRead = async (principal: Principal, filenames: readonly string[]): Promise<boolean> => {
    const rules = await Promise.all(filenames.map((filename) => judge(principal, "file_read", filename)));
    return rules.every((rule) => rule === null || rule.verdict === "allow");
  };
  const documents = createDocuments();
  const fileTools = [
    fileReadTool(workspace, links, documents),
    fileWriteTool(workspace, links, mayRead),
    fileListTool(workspace, { documents, toolMilliseconds: workMs(config) }),
    fileEditTool(workspace),
    fileMoveTool(workspace),
    fileSearchTool(workspace, { documents, toolMilliseconds: workMs(config) }),
    ...keepsChanges(config.workspace) ? [fileUndoTool(workspace)] : [],
  ];
  const resources: readonly ResourceFamily[] = [
    gateResources(places.ofResources(workspaceFilesResource(workspace))),
    ...(records === null ? [] : [records.resources]),
  ];
  const tools: readonly Tool[] = [
    ...fileTools.map(places.ofTool),
    places.ofPreview(fileDeleteTool(workspace, { isKept: keepsChanges(config.workspace), inPlace: places.ofWork })),
    ...llmTools({ ...models, workspace, clock }),
    ...(records === null ? [] : records.tools),
  ];
  return {
    model,
    documents,
    workspace,
    resources,
    prompts: records?.prompts ?? [],
    tools,
    /** Serves the tools' links; `null` where there is no address to build them from. */
    transfers,
    /** Drops what the workspaces keep for too long. */
    tidy,
    /** Whether the files can be reached. */
    isWorkspaceThere,
    async close() {
      await transfers?.close();
      documents.close();
      model.close();
      await opened.close();
    },
  };
}

/** The tools' way to make links, and the endpoint at which they are used. */
function openTransfers(source: WorkspaceSource, parts: Parts, access: Access) {
  const limits = parts.bounds.transfers ?? {};
  const load = loadOnce(async () =>
    (await loadTransfers()).createTransfers({ ...parts, source, access, limits, refusalWords })
  );
  const links: TransferLinks = {
    forDownload: async (principal, path) => await (await load()).links.forDownload(principal, path),
    forUpload: async (principal, path, rule) => await (await load()).links.forUpload(principal, path, rule),
  };
  const endpoint: Endpoint = async (request, peer) => await (await load()).endpoint(request, peer);
  return {
    links,
    endpoint,
    /** Admits no more; resolves when the running ones have ended, or after so many milliseconds. */
    finish: (milliseconds: number) => load.ifLoaded(({ finish }) => finish(milliseconds)),
    close: () => load.ifLoaded(({ close }) => close()),
  };
}
