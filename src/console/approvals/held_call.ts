/** Calls that wait for a person, as they are stored: one entry for the same call by the same client. */
import * as z from "zod";
import { digestOf } from "../../lib/content_digest.ts";
import type { Storage, StorageKey } from "../../storage/port.ts";

/** How long a call waits for a decision, and how long a decision waits for the call. */
export const heldMs = 900_000;
export const maxHeldCalls = 500;
/** Calls that come at the same moment may all see a free place. */
const maxListed = 2 * maxHeldCalls;
const family = "held_call";

const heldShape = z.lazy(() =>
  z.object({
    id: z.string(),
    person: z.string(),
    clientId: z.string(),
    clientName: z.string(),
    grantId: z.string(),
    tool: z.string(),
    places: z.array(z.string()),
    /** The arguments as JSON, cut; the whole of them is in the id. */
    arguments: z.string(),
    /** What the call would do, in words or as a difference. */
    effect: z.string(),
    /** SHA-256 of the whole effect and of what is there: an approval is for this and nothing else. */
    effectDigest: z.string(),
    approver: z.enum(["person", "administrator"]),
    /** The rule that holds it; a lasting approval lets on what that rule would ask about. */
    ruleId: z.string().optional(),
    /** The others that would hold it too. */
    otherRuleIds: z.array(z.string()).optional(),
    createdAt: z.number(),
    expiresAt: z.number(),
    state: z.enum(["waiting", "approved", "denied"]),
    decidedBy: z.string().optional(),
    /** What the person says to the agent. */
    word: z.string().optional(),
  })
);

export type HeldCall = z.output<typeof heldShape>;

export interface StoredHeldCall {
  readonly call: HeldCall;
  readonly version: string;
}

/** The identity of a call: who, by which client and grant, which tool, with exactly these arguments. */
export function heldCallId(
  { person, clientId, grantId, tool }: Pick<HeldCall, "person" | "clientId" | "grantId" | "tool">,
  input: unknown,
): string {
  return digestOf(JSON.stringify([person, clientId, grantId, tool, canonical(input)]));
}

/** The same value with the members of its objects in order. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  const sorted = Object.entries(value).filter(([, member]) => member !== undefined).sort(([a], [b]) => a < b ? -1 : 1);
  return Object.fromEntries(sorted.map(([name, member]) => [name, canonical(member)]));
}

export function heldCallKey(id: string): StorageKey {
  return [family, id];
}

export async function readHeldCall(storage: Storage, id: string): Promise<StoredHeldCall | null> {
  const entry = await storage.get(heldCallKey(id));
  return entry === null ? null : { call: heldShape.parse(entry.value), version: entry.version };
}

/** All that wait or were decided lately, the oldest first. */
export async function listHeldCalls(storage: Storage): Promise<readonly HeldCall[]> {
  const entries = await storage.list([family], { limit: maxListed });
  return entries.map(({ value }) => heldShape.parse(value)).sort((a, b) =>
    a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)
  );
}

/**
 * Stores a call unless it was changed since it was read (`version`; `null` for one that is not there yet), in the place
 * of another one where that is still as it was read.
 */
export async function putHeldCall(
  storage: Storage,
  call: HeldCall,
  { version, displaced = null }: { readonly version: string | null; readonly displaced?: StoredHeldCall | null },
): Promise<boolean> {
  const key = heldCallKey(call.id);
  const others = displaced === null ? [] : [{ key: heldCallKey(displaced.call.id), version: displaced.version }];
  return await storage.commit({
    checks: [{ key, version }, ...others],
    puts: [{ key, value: call, expiresAt: call.expiresAt }],
    deletes: others.map((other) => other.key),
  });
}

/** Takes an approved call out, so that it runs once however many ask. */
export async function takeHeldCall(storage: Storage, { call, version }: StoredHeldCall): Promise<boolean> {
  const key = heldCallKey(call.id);
  return await storage.commit({ checks: [{ key, version }], deletes: [key] });
}
