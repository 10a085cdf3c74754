/**
 * Rules: which calls are allowed, which wait for a person, and which are refused, by the files and tables that a call is
 * about. Their order does not matter.
 */
import * as z from "zod";
import { lazyObject } from "../../lib/lazy_object.ts";
import { foldedForms } from "../../files/mod.ts";
import { joinNext } from "../../lib/turns.ts";
import { changeEntry, watchEntries } from "../../lib/stored_entries.ts";
import type { Foundation, StorageKey } from "../../storage/mod.ts";
import { isObject } from "../../lib/json.ts";
import type { Tool } from "../../mcp/mod.ts";
import type { Principal } from "../../lib/principal.ts";

/** What a rule says. */
export type Verdict = "allow" | "ask" | "deny";

/** A call, as rules see it. */
export interface JudgedCall {
  readonly person: string;
  readonly clientId: string;
  readonly grantId: string;
  readonly tool: string;
  /** The tool changes something. */
  readonly changes: boolean;
  /** Paths of the workspace without a leading slash, tables of ServiceNow; empty for a call about none. */
  readonly places: readonly string[];
  /** What else the places may be called: counts for what a rule stops. */
  readonly otherNames?: readonly string[];
  /** Those of both that are paths. */
  readonly paths?: readonly string[];
  /** Where they lead through links, as the workspace finds it; `withTrueNames` asks for it. */
  readonly trueNames?: { readonly ofCall: readonly string[]; readonly ofRules: ReadonlyMap<string, readonly string[]> };
}

/** Of each text of a rule but the id of a client. */
export const maxRuleTextCharacters = 200;
/** A client's id may be the address of its metadata document. */
const maxClientIdCharacters = 4_096;
const text = () => z.string().max(maxRuleTextCharacters).optional();

/** A rule. What it leaves out fits every call. */
const ruleSchema = lazyObject(() => ({
  id: z.string(),
  person: text(),
  clientId: z.string().max(maxClientIdCharacters).optional(),
  /** For people to recognise the client by. */
  clientName: text(),
  /** An approval for a while holds for this grant alone. */
  grantId: text(),
  /** A tool's name, or `changes`: every tool that changes something. */
  tool: text(),
  /** A directory or a file of the workspace, or a table. */
  place: text(),
  verdict: z.enum(["allow", "ask", "deny"]),
  /** Who decides about a call that waits: the person it is made for, or an administrator only. */
  approver: z.enum(["person", "administrator"]).optional(),
  /** The rule ends here, in milliseconds since the epoch. */
  until: z.number().optional(),
  /** A lasting approval: the ids of the rules that no longer ask about such calls. */
  passes: z.array(z.string()).optional(),
  /** Who made it. It stays in force when they leave: administrators see on the Rules page which ones those are. */
  by: z.string().optional(),
}));

/** A rule as it holds. */
export interface Rule extends z.output<typeof ruleSchema> {
  /** The tool that the stored rule names, and that no version of this server has: it refuses, for every tool. */
  readonly unknownTool?: string;
}

/** The word that stands for all tools that change something. */
export const everyChange = "changes";

/** The rule that decides: Refuse comes before Ask, Ask before Allow. `null` where none fits, and the call goes on. */
export function decidingRule(rules: readonly Rule[], call: JudgedCall, now: number): Rule | null {
  const fitting = rules.filter((rule) => fits(rule, call, now));
  return fitting.find(({ verdict }) => verdict === "deny") ?? unpassed(fitting)[0] ??
    fitting.find(({ verdict }) => verdict === "allow") ?? null;
}

/** All rules that ask about the call, one that wants an administrator first. */
export function askingRules(rules: readonly Rule[], call: JudgedCall, now: number): readonly Rule[] {
  return unpassed(rules.filter((rule) => fits(rule, call, now)));
}

function unpassed(fitting: readonly Rule[]): readonly Rule[] {
  const passed = new Set(fitting.flatMap(({ passes = [] }) => passes));
  const asking = fitting.filter(({ verdict, id }) => verdict === "ask" && !passed.has(id));
  return asking.toSorted((a, b) => Number(b.approver === "administrator") - Number(a.approver === "administrator"));
}

/** The rules as they hold: one that asks or refuses about an unknown tool refuses all of them. */
function asTheyHold(rules: readonly Rule[], knowsTool: (name: string) => boolean): readonly Rule[] {
  return rules.map((rule) => {
    const { tool, ...others } = rule;
    if (tool === undefined || tool === everyChange || rule.verdict === "allow" || knowsTool(tool)) return rule;
    return { ...others, verdict: "deny", unknownTool: tool };
  });
}

/** Places of rules that may decide about the call: whether they do depends on what its names lead to. */
export function placesThatDecide(rules: readonly Rule[], call: JudgedCall, now: number): readonly string[] {
  return rules.flatMap((rule) => rule.place !== undefined && isAboutCaller(rule, call, now) ? [rule.place] : []);
}

function fits(rule: Rule, call: JudgedCall, now: number): boolean {
  if (!isAboutCaller(rule, call, now)) return false;
  const { place } = rule;
  if (place === undefined) return true;
  const { ofCall = [], ofRules } = call.trueNames ?? {};
  const names = [place, ...ofRules?.get(place) ?? []];
  // A call is let on where all of its places are allowed; it is stopped where one of them is not.
  if (rule.verdict === "allow") {
    return call.places.length > 0 && call.places.every((each) => isWithin(each, place, isSameName)) &&
      ofCall.every((each) => names.some((name) => isWithin(each, name, isSameName)));
  }
  return [...call.places, ...call.otherNames ?? [], ...ofCall].some((each) =>
    names.some((name) => isWithin(each, name, mayBeSameName) || isWithin(name, each, mayBeSameName))
  );
}

/** Whether the rule is about such calls, wherever. */
function isAboutCaller(rule: Rule, call: JudgedCall, now: number): boolean {
  if (rule.until !== undefined && rule.until <= now) return false;
  if (rule.person !== undefined && rule.person !== call.person) return false;
  if (rule.clientId !== undefined && rule.clientId !== call.clientId) return false;
  if (rule.grantId !== undefined && rule.grantId !== call.grantId) return false;
  const { tool = call.tool } = rule;
  return tool === call.tool || (tool === everyChange && call.changes);
}

type SameName = (a: string, b: string) => boolean;

function isWithin(path: string, place: string, isSame: SameName): boolean {
  const [inner, outer] = [namesOf(path), namesOf(place)];
  return outer.length <= inner.length && outer.every((name, index) => isSame(name, inner[index] ?? ""));
}

function namesOf(path: string): readonly string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}

const isSameName: SameName = (a, b) => a.normalize("NFC") === b.normalize("NFC");

/** Whether any file system takes the two for one name; one that ends in `*` is of all that begin so. */
const mayBeSameName: SameName = (a, b) => {
  const forms = foldedForms(b);
  return a === b || (a.endsWith("*") && forms.some((form) => form.startsWith(a.slice(0, -1)))) ||
    foldedForms(a).some((form) => forms.includes(form));
};

/** A rule in a sentence. */
export function ruleWords(rule: Rule): string {
  const { person, clientId, clientName = clientId, grantId, tool = "any tool", place, unknownTool } = rule;
  const which = [
    person === undefined ? "" : ` for ${person}`,
    clientId === undefined ? "" : ` by ${clientName}${grantId === undefined ? "" : " (one connection)"}`,
    tool === everyChange ? " that change something" : ` of ${tool}`,
    place === undefined ? "" : ` in ${place || "the whole workspace"}`,
  ].join("");
  const unknown = unknownTool === undefined
    ? ""
    : ` The rule names the tool ${unknownTool}, which this server does not have: remove it, or make a new one.`;
  return `Calls${which} ${verdictWords(rule)}${unknown}`;
}

/** The same for two rules that hold alike, however their places are spelled and their clients are called. */
export function meaningOf({ id: _, clientName: __, by: ___, place, approver = "person", ...others }: Rule): string {
  return JSON.stringify([place && namesOf(place.normalize("NFC")), approver, Object.entries(others).toSorted()]);
}

function verdictWords({ verdict, approver }: Rule): string {
  if (verdict === "allow") return "are allowed.";
  if (verdict === "deny") return "are refused.";
  return approver === "administrator" ? "wait for an administrator." : "wait until the person approves.";
}

/** Stored at once; a further one is refused. */
export const maxRules = 200;
const key: StorageKey = ["approval_rules", "current"];
const storedShape = lazyObject(() => ({ rules: z.array(ruleSchema) }));

/** The rules of all instances. Reading them costs a look at a variable. */
export type RuleStore = ReturnType<typeof createRuleStore>;

/** Keeps the stored rules in memory, and follows their changes. Empty until the first `load`. */
export function createRuleStore(
  { storage, clock, log, knowsTool = () => true }: Foundation & {
    /** Whether some version or configuration of this server has the tool. */
    readonly knowsTool?: (name: string) => boolean;
  },
) {
  let current: readonly Rule[] = [];
  const parse = (value: unknown): readonly Rule[] => value === undefined ? [] : storedShape.parse(value).rules;
  // One look at a time: of two answers the later one could be the older.
  const load = joinNext(async (): Promise<void> => {
    current = asTheyHold(parse((await storage.get(key))?.value), knowsTool);
  });
  const watch = watchEntries(storage, [key], load, { log });
  return {
    /** As they hold, and as last read: of this instance's own changes at once, of others' as soon as the storage tells. */
    get current(): readonly Rule[] {
      return current;
    },
    /** Reads them again. */
    load,
    /** Replaces them by what `change` makes of them; `null` from it, or too many, changes nothing. */
    async change(
      change: (rules: readonly Rule[]) => readonly Rule[] | null,
      { userId, address }: { readonly userId: string; readonly address: string },
    ): Promise<boolean> {
      let before: readonly Rule[] = [];
      const stored = await changeEntry(storage, key, (value) => {
        before = parse(value).filter(({ until }) => until === undefined || until > clock());
        const rules = change(before)?.map((rule) => before.includes(rule) ? rule : { ...rule, by: userId }) ?? null;
        // none is dropped to make room: it may be the one that asks
        return rules === null || rules.length > maxRules ? null : { rules };
      });
      if (stored === null) return false;
      await load().catch(() => void (current = asTheyHold(stored.rules, knowsTool))); // stored, and then the storage was lost
      const what = whatChanged(before, stored.rules);
      log.write("audit", "rules_changed", { user: userId, address, outcome: "ok", what });
      return true;
    },
    close: (): void => watch.stop(),
  };
}

function whatChanged(before: readonly Rule[], after: readonly Rule[]): string {
  const wordsOf = (rules: readonly Rule[], others: readonly Rule[]): string =>
    rules.filter(({ id }) => !others.some((other) => other.id === id)).map(ruleWords).join(" ");
  const [added, removed] = [wordsOf(after, before), wordsOf(before, after)];
  return added !== "" ? `added: ${added}` : removed !== "" ? `removed: ${removed}` : "nothing";
}

// Which files and tables a call is about: what the rules are held against.

/** Reads what a caller wrote: the name that is meant first, then what else it may mean. */
export interface PlaceReader {
  pathNames(text: string): readonly string[];
  /** `null` where the input does not say. */
  tableNames(input: Partial<Record<"table" | "id" | "item" | "from", unknown>>): readonly string[] | null;
  /** Of records that are shown with others. */
  includedTables(input: { readonly include?: unknown }): readonly string[];
}

const everything = "";
const maxPlaces = 500;
const maxDepth = 4;

/** How a path is used: what it names is changed or read, something is put there, or it is a pattern of paths. */
type PathUse = "path" | "target" | "pattern";

/** Parameters whose values are paths, or lists of them or of objects with them; tools name them alike. */
const pathParameters: ReadonlyMap<string, PathUse> = new Map<string, PathUse>([
  ...["path", "paths", "filename", "files", "against", "edits", "images", "messages"].map((name) =>
    [name, "path"] as const
  ),
  ...["destination", "save_as", "output"].map((name) => [name, "target"] as const),
  ...["pattern", "exclude"].map((name) => [name, "pattern"] as const), // a backslash is a part of them
]);

/** The input with each path that it holds replaced by what `read` makes of it: the one walk over a call's paths. */
export function mapPaths(input: unknown, read: (text: string, use: PathUse) => string, depth = 0): unknown {
  const valueOf = (value: unknown, use: PathUse): unknown => {
    if (typeof value === "string") return read(value, use);
    if (Array.isArray(value)) return value.map((each) => Array.isArray(each) ? each : valueOf(each, use));
    return mapPaths(value, read, depth + 1);
  };
  if (!isObject(input) || depth > maxDepth) return input;
  if (!Object.keys(input).some((name) => pathParameters.has(name))) return input;
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => {
      const use = pathParameters.get(name);
      return [name, use === undefined ? value : valueOf(value, use)];
    }),
  );
}

/**
 * The paths and tables that an input means, and further names that they may have. `paths`: those of both that are paths
 * of the workspace; `targets`: those of them where something is put (of a directory there, what is in it stays).
 */
export function placesOf(tool: Pick<Tool, "places" | "input">, input: unknown, reader: PlaceReader) {
  const places = new Set(tool.places);
  const otherNames = new Set<string>();
  const paths = new Set<string>();
  const targets = new Set<string>();
  const addPath = (text: string, isTarget = false): void => {
    const names = reader.pathNames(text);
    for (const name of paths.size < maxPlaces ? names : [everything]) {
      if (isTarget && !paths.has(name)) targets.add(name);
      else targets.delete(name);
      paths.add(name);
    }
    add(names);
  };
  const add = ([place = everything, ...others]: readonly string[]): void => {
    places.add(places.size < maxPlaces ? place : everything); // too many are judged as all there is
    for (const name of others) otherNames.add(name);
  };
  for (const place of tool.places ?? []) {
    for (const name of place === everything ? [] : reader.tableNames({ table: place }) ?? []) otherNames.add(name);
  }
  if (isObject(input)) {
    mapPaths(input, (text, use) => {
      if (use !== "pattern") addPath(text, use === "target");
      return text;
    });
    const { path, paths: several, destination } = input;
    if (typeof destination === "string" && (several !== undefined || /[/\\]$/.test(destination))) {
      for (const from of [path, several].flat()) {
        const names = String(from).split(/[/\\]/); // where an entry moves into a directory, a link may have its name there
        addPath(`${destination}/${names.findLast((name) => name !== "" && name !== ".") ?? ""}`, true);
      }
    }
    const parameters = tool.input instanceof z.ZodLazy ? tool.input._zod.innerType : tool.input;
    const { shape } = parameters as { readonly shape?: Readonly<Record<string, unknown>> };
    if (shape !== undefined && ["table", "id"].some((name) => Object.hasOwn(shape, name))) {
      add(reader.tableNames(input) ?? [everything]);
      for (const name of reader.includedTables(input)) otherNames.add(name);
    }
  }
  return { places: [...places], otherNames: [...otherNames], paths: [...paths], targets };
}

/** The names that a path stands for, in the workspace of the principal; an empty one where that cannot be told. */
export type FindTrueNames = (principal: Principal, path: string) => Promise<readonly string[]>;

interface NamesOptions {
  readonly principal: Principal;
  readonly rules: readonly Rule[];
  readonly now: number;
  readonly find: FindTrueNames;
}

/** The rule that decides about the call by every name; `null` where none does. */
export async function judgeByNames(call: JudgedCall, options: NamesOptions): Promise<Rule | null> {
  const { rules, now } = options;
  const judged = placesThatDecide(rules, call, now).length > 0 ? await withTrueNames(call, options) : call;
  return decidingRule(rules, judged, now);
}

/** The call with what its paths and the rules' places lead to. */
export async function withTrueNames(
  call: JudgedCall,
  { principal, rules, now, find }: NamesOptions,
): Promise<JudgedCall> {
  const ofCall = new Set<string>();
  for (const path of call.paths ?? []) for (const name of await find(principal, path)) ofCall.add(name);
  const ofRules = new Map<string, readonly string[]>();
  for (const place of new Set(placesThatDecide(rules, call, now))) ofRules.set(place, await find(principal, place));
  return { ...call, trueNames: { ofCall: [...ofCall], ofRules } };
}
