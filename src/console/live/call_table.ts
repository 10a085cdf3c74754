/** The calls that run in this process, and those that have just ended. Bounded; nothing of it is stored. */
import * as z from "zod";
import { type AuditLine, touchedBy } from "../../audit/mod.ts";
import { isObject } from "../../lib/json.ts";
import type { Clock } from "../../lib/time.ts";
import type { WatchedCall } from "../../mcp/mod.ts";

// What instances tell each other of the calls that run there.

const optionalText = z.lazy(() => z.string().nullable());

export const instanceReport = z.lazy(() =>
  z.object({
    instance: z.string(),
    calls: z.array(z.object({
      /** Names it among the calls of all instances. */
      id: z.string(),
      instance: z.string(),
      person: z.string(),
      client: z.string(),
      /** The tool; for other requests the method. */
      tool: z.string(),
      target: optionalText,
      /** As JSON, cut short. */
      arguments: z.string(),
      /** Milliseconds since the epoch. */
      since: z.number(),
    })).readonly(),
    ended: z.array(z.object({
      time: z.number(),
      person: optionalText,
      client: optionalText,
      tool: optionalText,
      target: optionalText,
      outcome: optionalText,
      code: optionalText,
      durationMs: z.number().nullable(),
    })).readonly(),
    /** Whether it cancelled the call that the question named. */
    cancelled: z.boolean(),
  })
);

export type InstanceReport = z.infer<typeof instanceReport>;
export type LiveCall = Readonly<InstanceReport["calls"][number]>;
export type EndedCall = Readonly<InstanceReport["ended"][number]>;

interface CallTable {
  /** The oldest first. */
  list(): readonly LiveCall[];
  /** The newest first. */
  ended(): readonly EndedCall[];
  enter(call: WatchedCall, cancel: () => void): () => void;
  noteEnd(line: AuditLine): void;
  /** `false` when no call of this process has the id. */
  cancel(id: string): boolean;
  /** Cancels those that fit. */
  cancelAll(fits: (call: WatchedCall) => boolean): void;
}

interface Entry {
  readonly number: number;
  readonly since: number;
  readonly call: WatchedCall;
  readonly cancel: () => void;
}

const maxListed = 200;
const maxEnded = 100;
const maxTextCharacters = 60;
const maxArgumentCharacters = 300;
const maxArguments = 12;

export function createCallTable({ instance, clock }: { readonly instance: string; readonly clock: Clock }): CallTable {
  const entries = new Set<Entry>();
  const ended: AuditLine[] = [];
  let entered = 0;
  let nextEnd = 0;
  const idOf = ({ number }: Entry): string => `${instance}-${number}`;
  return {
    list: () =>
      Array.from(entries).slice(0, maxListed).map((entry) => {
        const { call: { request: { method, params }, principal, tool, input }, since } = entry;
        return {
          id: idOf(entry),
          instance,
          person: principal.subject,
          client: principal.clientId,
          tool: tool ?? method,
          target: touchedBy(input === undefined ? params : { arguments: input }),
          arguments: argumentsInShort(params),
          since,
        };
      }),
    ended: () =>
      [...ended.slice(nextEnd), ...ended.slice(0, nextEnd)].reverse().map(
        ({ time, person, client, tool, target, outcome, code, durationMs }) => ({
          time,
          person,
          client,
          tool,
          target,
          outcome,
          code,
          durationMs,
        }),
      ),
    enter(call, cancel) {
      const entry = { number: ++entered, since: clock(), call, cancel };
      entries.add(entry);
      return () => entries.delete(entry);
    },
    noteEnd(line) {
      ended[nextEnd] = line;
      nextEnd = (nextEnd + 1) % maxEnded;
    },
    cancel(id) {
      for (const entry of entries) {
        if (idOf(entry) !== id) continue;
        entry.cancel();
        return true;
      }
      return false;
    },
    cancelAll(fits) {
      for (const { call, cancel } of [...entries]) if (fits(call)) cancel();
    },
  };
}

/** The first arguments, each text cut: enough to recognise a call by, not what a file will hold. */
export function argumentsInShort(params: unknown): string {
  const input = isObject(params) ? params["arguments"] ?? params : {};
  if (!isObject(input)) return "";
  const names = Object.keys(input).filter((name) => name !== "_meta");
  const short = Object.fromEntries(names.slice(0, maxArguments).map((name) => [cut(name), inShort(input[name])]));
  const text = JSON.stringify(short);
  return text.length > maxArgumentCharacters ? `${text.slice(0, maxArgumentCharacters - 1)}…` : text;
}

function inShort(value: unknown): unknown {
  if (typeof value === "string") return cut(value);
  if (Array.isArray(value)) return `[${value.length}]`;
  return isObject(value) ? "{…}" : value;
}

function cut(text: string): string {
  return text.length > maxTextCharacters ? `${text.slice(0, maxTextCharacters - 1)}…`.toWellFormed() : text;
}
