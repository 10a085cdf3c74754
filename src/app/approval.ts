/** The rules about calls, the gate in front of the tools, and the decisions of people, wired. */
import { createDecisions, type Decisions } from "../console/approvals/decisions.ts";
import { gateResources } from "../console/approvals/gate_resources.ts";
import { judgeByNames } from "../console/approvals/true_names.ts";
import { gateTool } from "../console/approvals/gate.ts";
import type { JudgedCall, Rule } from "../console/approvals/rule.ts";
import { createRuleStore, type RuleStore } from "../console/approvals/rule_store.ts";
import { isKnownTool } from "./known_tools.ts";
import { createStates, createTrueNames, isPathResource, placeOfResource, placeReader, readingToolOf } from "./approval_places.ts";
import type { Bounds } from "./bounds.ts";
import { nameOfOperator } from "./client_name.ts";
import type { Config } from "./config/config.ts";
import type { Clock } from "../lib/clock.ts";
import type { Principal } from "../lib/principal.ts";
import type { Log } from "../lib/log.ts";
import type { Timers } from "../lib/timers.ts";
import type { ResourceFamily } from "../mcp/resource.ts";
import type { Tool } from "../mcp/tool.ts";
import { takingMachinePaths } from "./machine_paths.ts";
import type { WorkspaceSource } from "../files/workspace/port.ts";
import type { Storage } from "../storage/port.ts";

export interface Approval {
  readonly rules: RuleStore;
  /** The rule that decides about a call; `null`: none does, and it goes on. */
  judge(call: JudgedCall, principal: Principal): Promise<Rule | null>;
  readonly decisions: Decisions;
  /** The tool behind the gate. */
  gate(tool: Tool): Tool;
  gateResources(family: ResourceFamily): ResourceFamily;
  close(): void;
}

interface ApprovalParts {
  readonly serverUrl: string;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly bounds: Bounds;
  nameOfClient(clientId: string): string | undefined;
  isLive(principal: Principal): Promise<boolean>;
  /** Opened by the time of the first call. */
  workspace(): WorkspaceSource;
  readonly extraTools?: readonly Tool[];
}

/** Reads the rules before the first call can come. */
export async function openApproval(config: Pick<Config, "console">, parts: ApprovalParts): Promise<Approval> {
  const pageUrl = config.console.pages === "off" ? null : `${parts.serverUrl}/console/decisions`;
  const own = new Set(parts.extraTools?.map(({ name }) => name));
  const rules = createRuleStore({ ...parts, knowsTool: (name) => own.has(name) || isKnownTool(name) });
  await rules.load();
  if (pageUrl === null && rules.current.some(({ verdict }) => verdict === "ask")) {
    parts.log.write("warn", "no_approval_page", {
      problem: "rules hold calls for approval, and CONSOLE=off switches the page off: these calls are refused",
      remedy: "remove CONSOLE=off, or remove these rules on the console's Rules page first",
    });
  }
  const options = {
    ...parts,
    ...parts.bounds.approval,
    rules,
    pageUrl,
    placeReader,
    findTrueNames: createTrueNames(parts.workspace),
    findStates: createStates(parts.workspace),
    nameOfClient: (id: string) => parts.nameOfClient(id) ?? nameOfOperator(id) ?? id,
  };
  return {
    rules,
    judge: (call, principal) =>
      judgeByNames(call, { principal, rules: rules.current, now: parts.clock(), find: options.findTrueNames }),
    decisions: createDecisions({ ...parts, rules }),
    gate: (tool) => takingMachinePaths(gateTool(tool, options), parts.workspace),
    gateResources: (family) =>
      gateResources(family, {
        ...options,
        tool: readingToolOf(family.name),
        placeOf: placeOfResource,
        isPath: isPathResource,
      }),
    close: () => rules.close(),
  };
}
