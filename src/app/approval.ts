/** Wires the rules about calls, the gate in front of the tools, and people's decisions. */
import type { NamedGrant, Principal } from "../lib/principal.ts";
import { suggestible, unjudged } from "../lib/suggestible.ts";
import type { ResourceFamily, Tool } from "../mcp/mod.ts";
import * as files from "../files/mod.ts";
import type { EntryState, WorkspaceSource } from "../files/mod.ts";
import {
  createDecisions,
  createRuleStore,
  gateResources,
  gateTool,
  judgeByNames,
  viewResource,
} from "../console/mod.ts";
import type { FindStates, FindTrueNames, PlaceReader, Rule } from "../console/mod.ts";
import {
  kindsOf,
  plainId,
  relatedTables,
  tableNameOf,
  tableOfLink,
  tableOfNumber,
  tablesOfKind,
} from "../servicenow/mod.ts";
import { nameOfOperator, takingMachinePaths } from "./protocol_server.ts";
import type { Config } from "./config/config.ts";
import type { Parts } from "./installation.ts";

const recordNumber = /^[A-Za-z]{2,10}\d{4,12}$/;

const tools: ReadonlyMap<string, string> = new Map([
  ["workspace_files", "file_read"],
  ["servicenow", "servicenow_get_record"],
]);

export const placeReader: PlaceReader = { pathNames, tableNames, includedTables };

/** The path, the files of which its end may ask for a part, and the directory with the files of a pattern. */
function pathNames(text: string): readonly string[] {
  const path = files.readName(text) ?? text;
  const directories = files.isPattern(path) ? [files.directoryOfPattern(path)] : [];
  const named = [...files.parseNamedParts(path), ...files.documentParts(path)].map(({ filename }) => filename);
  return [path, ...named, ...directories];
}

function tableNames({ table, id, item, from }: Parameters<PlaceReader["tableNames"]>[0]): readonly string[] | null {
  const ofItem = typeof item === "string" && item.trim() !== "" ? "sc_cat_item" : undefined;
  const named = typeof table === "string" && table.trim() !== "" ? table.trim() : ofItem;
  const record = typeof id === "string" ? plainId(id) : "";
  const isLink = /^(https?|servicenow):/i.test(record);
  const ofLink = isLink ? tableOfLink(record) : undefined;
  if (isLink && ofLink === undefined) return null;
  const ofNumbers = new Set(record.split(/[\s,;|]+/).filter((each) => recordNumber.test(each)).map(tableOfNumber));
  if (ofNumbers.size > 1) return null;
  const [byNumber] = ofNumbers;
  const ofPerson = /^(me|my profile)$/i.test(record) ? "sys_user" : undefined;
  const byId = ofLink ?? ofPerson ?? byNumber;
  const given = named ?? byId;
  if (given === undefined) return null;
  const source = typeof from === "string" ? plainId(from) : "";
  if (source !== "" && !recordNumber.test(source)) return null;
  const ofSource = source === "" ? given : tableOfNumber(source);
  // a number or an item may be of another table than the one that is named with it
  const tables = [given, byId ?? given, ofItem ?? given, ofSource];
  return tables.flatMap((each) => [...relatedTables(tableNameOf(each)), each]);
}

function includedTables({ include }: { readonly include?: unknown }): readonly string[] {
  if (typeof include !== "string") return [];
  return kindsOf(include).flatMap((kind) => Object.hasOwn(tablesOfKind, kind) ? tablesOfKind[kind] ?? [] : [])
    .flatMap(relatedTables);
}

/** The names of what a resource is about; none where it is neither a file nor a record. */
export function placeOfResource(uri: string): readonly string[] {
  const scheme = "servicenow://";
  if (uri.startsWith(scheme)) {
    const [table = "", id] = uri.slice(scheme.length).split("/");
    return tableNames(id === undefined ? { id: table } : { table, id }) ?? [""];
  }
  if (!isPathResource(uri)) return [];
  // a directory, as completion suggests it, ends in a slash
  return [files.parseFileUri(uri.replace(/\/$/, ""))?.text ?? ""];
}

function isPathResource(uri: string): boolean {
  return /^workspace:/i.test(uri);
}

/**
 * Where a path leads in the workspace that a call uses. What cannot be resolved stands for everything, unless nothing
 * is there.
 */
function createTrueNames(workspace: WorkspaceSource): FindTrueNames {
  return async (principal, text) => {
    const own = workspace(principal);
    // the names of a call are read already, those of rules stand as they were written
    const all = await Array.fromAsync(new Set([files.showName(text), text]), async (written) => {
      const parsed = files.parseDirectoryPath(written);
      if (!parsed.ok || parsed.value.segments.length === 0) return []; // no tool takes the path, or it is the root
      const path = await files.inStoredForm(own, parsed.value);
      // so that all names of the file are looked for
      await suggestible.run(unjudged, () => own.read(path, { offsetBytes: 0, lengthBytes: 0 }));
      const names = own.trueNames(path);
      if (names.ok) return names.value;
      return ["not_found", "not_a_directory"].includes(names.error.reason) ? [path.text] : [""];
    });
    return all.flat();
  };
}

/** What is at each path of a call; of a target no more than itself. */
function createStates(workspace: WorkspaceSource): FindStates {
  return async (principal, { paths, targets }) => {
    const own = workspace(principal);
    const states: EntryState[] = [];
    for (const text of paths) {
      const parsed = files.parseDirectoryPath(files.showName(text));
      if (!parsed.ok) continue; // no tool takes the path
      const path = await files.inStoredForm(own, parsed.value);
      const { words, version } = await files.stateOf(own, path, !targets.has(text));
      states.push({ words: `${files.showName(path.text === "" ? "." : path.text)}: ${words}`, version });
    }
    return states;
  };
}

/** The tool that reads what a family of resources has. */
export function readingToolOf(family: string): string {
  return tools.get(family) ?? family;
}

export type Approval = Awaited<ReturnType<typeof openApproval>>;

interface ApprovalParts extends Parts {
  nameOfClient(clientId: string): string | undefined;
  isLive(principal: Principal): Promise<boolean>;
  isGrantLive(grant: NamedGrant): Promise<boolean>;
  isAdministrator(userId: string): Promise<boolean | null>;
  /** Opened by the time of the first call. */
  readonly workspace: WorkspaceSource;
}

/** Reads the rules before the first call can come. */
export async function openApproval(config: Pick<Config, "console">, parts: ApprovalParts) {
  const consoleUrl = config.console.pages === "off" ? null : `${parts.serverUrl}/console`;
  const pageUrl = consoleUrl === null ? null : `${consoleUrl}/decisions`;
  const own = new Set(parts.extraTools.map(({ name }) => name));
  const rules = createRuleStore({ ...parts, knowsTool: (name) => own.has(name) || isKnownTool(name) });
  await rules.load();
  if (pageUrl === null && rules.current.some(({ verdict }) => verdict === "ask")) {
    parts.log.write("warn", "no_approval_page", {
      problem:
        "rules hold calls for approval, and CONSOLE=off turns off the page to decide on: these calls are refused",
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
    /** The rule, of those that count, that decides about a tool's call on a path; `null`: none does, and it goes on. */
    judge(principal: Principal, tool: string, path: string, counts = (_: Rule) => true): Promise<Rule | null> {
      const { subject: person, clientId, grantId } = principal;
      const paths = pathNames(path);
      const [place = path, ...otherNames] = paths;
      const about = { person, clientId, grantId, tool, changes: tool === "file_write" };
      const held = { rules: rules.current.filter(counts), now: parts.clock(), find: options.findTrueNames };
      return judgeByNames({ ...about, places: [place], otherNames, paths }, { principal, ...held });
    },
    decisions: createDecisions({ ...parts, rules, isLive: parts.isGrantLive }),
    /** The tool behind the gate. */
    gate: (tool: Tool): Tool => takingMachinePaths(gateTool(tool, options), parts.workspace),
    gateResources: (family: ResourceFamily): ResourceFamily =>
      gateResources(family, {
        ...options,
        tool: readingToolOf(family.name),
        placeOf: placeOfResource,
        isPath: isPathResource,
      }),
    /** What clients show of results. */
    view: viewResource({ ...parts, pageUrl, consoleUrl }),
    close: (): void => rules.close(),
  };
}

/** The names of all tools that a configuration may give: a rule about one that is switched off here still means it. */
const names: ReadonlySet<string> = new Set([
  ...["file_read", "file_write", "file_list", "file_edit", "file_move", "file_delete", "file_search", "file_undo"],
  ...["llm_generate", "llm_models"],
  ...["servicenow_search", "servicenow_count", "servicenow_get_record", "servicenow_describe", "servicenow_create"],
  ...["servicenow_update", "servicenow_add_note", "servicenow_approve", "servicenow_order", "servicenow_attach"],
  "servicenow_fetch_attachment",
]);

export function isKnownTool(name: string): boolean {
  return names.has(name);
}
