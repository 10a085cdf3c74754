/** A task as it is stored, and as its client sees it (SEP-2663). */
import * as z from "zod";
import { parseStored } from "../lib/storage_fault.ts";
import type { Questions } from "./question.ts";

const status = () => z.enum(["working", "input_required", "completed", "failed", "cancelled"]);

const recordShape = z.lazy(() =>
  z.object({
    taskId: z.string(),
    subject: z.string(),
    clientId: z.string(),
    tool: z.string().nullable(),
    /** Those that the call needed; a token without them does not get at the task. */
    scopes: z.array(z.string()).default([]),
    status: status(),
    statusMessage: z.string().optional(),
    createdAt: z.number(),
    lastUpdatedAt: z.number(),
    ttlMs: z.number(),
    pollIntervalMs: z.number(),
    /** When the process that runs it last said that it lives. */
    aliveAt: z.number(),
    inputRequests: z.record(z.string(), z.unknown()).optional(),
    result: z.unknown().optional(),
    error: z.unknown().optional(),
  })
);

/** A stored task. Times are in milliseconds since the epoch. */
export type TaskRecord = z.infer<typeof recordShape>;

/** Reads a stored task. Throws for anything else. */
export function parseTaskRecord(value: unknown): TaskRecord {
  return parseStored(recordShape, value, "mcp_task");
}

const inboxShape = z.lazy(() => z.object({ cancel: z.boolean(), responses: z.record(z.string(), z.unknown()) }));

/** What another process left for the one that runs the task. */
export type TaskInbox = z.infer<typeof inboxShape>;

/** Reads a stored inbox. Throws for anything else. */
export function parseTaskInbox(value: unknown): TaskInbox {
  return parseStored(inboxShape, value, "mcp_task_inbox");
}

/** A task as its client sees it. */
export interface TaskView {
  readonly taskId: string;
  readonly status: TaskRecord["status"];
  readonly statusMessage?: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  readonly inputRequests?: Questions;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Whether a task has ended. */
export function isTerminal({ status }: TaskRecord): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** The client's view of a record. */
export function toTaskView(record: TaskRecord): TaskView {
  const { taskId, ttlMs, pollIntervalMs } = record;
  return {
    taskId,
    status: record.status,
    ...(record.statusMessage === undefined ? {} : { statusMessage: record.statusMessage }),
    createdAt: new Date(record.createdAt).toISOString(),
    lastUpdatedAt: new Date(record.lastUpdatedAt).toISOString(),
    ttlMs,
    pollIntervalMs,
    ...(record.status === "input_required" ? { inputRequests: record.inputRequests as Questions } : {}),
    ...(record.status === "completed" ? { result: record.result } : {}),
    ...(record.status === "failed" ? { error: record.error } : {}),
  };
}
