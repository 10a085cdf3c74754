/** One instance of the fleet: the real server, wired as it is in production, on simulated time and storage. */
import "@panva/jose"; // loaded before the simulation begins, which then waits for one turn of the loop: native_work.ts
import { z } from "zod";
import "../../src/oauth/endpoints.ts";
import { type App, buildApp } from "../../src/app/app.ts";
import { type Config, loadConfig } from "../../src/app/config/config.ts";
import type { KernelAccess } from "../../src/lib/kernel/kernel.ts";
import { createPause, type Timers } from "../../src/lib/time.ts";
import { createSecretBox } from "../../src/lib/secrets.ts";
import type { Log, LogFields } from "../../src/lib/log.ts";
import { defineTool, type Tool } from "../../src/mcp/tool.ts";
import type { Storage } from "../../src/storage/port.ts";
import { startTelemetry } from "../../src/audit/telemetry.ts";

/** How all instances are reached. */
export const serverUrl = "https://fleet.example";

/** What the checks need to know of the configuration. */
export const limits = {
  callsPerMinute: 64,
  tasksPerUser: 4,
  taskLifetimeSeconds: 180,
  refreshGraceSeconds: 30,
} as const;

const loaded = loadConfig({
  flags: {},
  env: {
    HOST: "127.0.0.1",
    SERVER_URL: serverUrl,
    REGISTRATION: "open",
    COMPATIBILITY: "structured",
    DATABASE_URL: "postgres://fleet@127.0.0.1/fleet",
    WORKSPACE_STORE: "storage",
    DATA_DIR: "/nowhere/data",
    WORKSPACE_DIR: "/nowhere/workspace",
    MCP_RATE_LIMIT: String(limits.callsPerMinute),
    OAUTH_RATE_LIMIT: "10000",
  },
  readFile: () => "",
});
if (!loaded.ok) throw new Error(JSON.stringify(loaded.error));

/** The configuration of every instance. */
export const config: Config = loaded.value;

/** The same key for every instance. */
export const secrets = createSecretBox(new Uint8Array(32).fill(7));

const telemetry = startTelemetry({ onDeploy: false }, { version: "simulated", log: { write() {}, flush() {} } });

/** What an instance is given. */
export interface InstanceParts {
  readonly storage: Storage;
  readonly timers: Timers;
  readonly clock: () => number;
  /** Receives every line of the log. */
  readonly onLine: (level: string, event: string, fields: LogFields) => void;
  readonly kernel?: KernelAccess;
}

/** Starts it. */
export async function startInstance({ onLine, ...parts }: InstanceParts): Promise<App> {
  const log: Log = { write: (level, event, fields = {}) => onLine(level, event, fields), flush: () => {} };
  return await buildApp(config, {
    ...parts,
    secrets,
    serverUrl,
    log,
    telemetry,
    bounds: {
      mcp: { maxTasksPerPrincipal: limits.tasksPerUser, taskTtlMs: limits.taskLifetimeSeconds * 1_000 },
      lifetimes: { refreshGraceSeconds: limits.refreshGraceSeconds },
      sweepIntervalMs: 60_000,
    },
    fetchDocument: () => Promise.reject(new Error("the simulated fleet has no internet")),
    extraTools: simulatedTools(parts.timers),
  });
}

const form = {
  method: "elicitation/create" as const,
  params: { message: "Go on?", requestedSchema: { type: "object" as const, properties: {} } },
};

/** A call that answers at once, and one that becomes a task, which may ask. */
function simulatedTools(timers: Timers): readonly Tool[] {
  const pause = createPause(timers);
  return [
    defineTool({
      name: "echo",
      title: "Echo",
      description: "Says what it is told.",
      scopes: [],
      annotations: { readOnlyHint: true },
      input: z.object({ text: z.string() }),
      run: ({ text }) => ({ ok: true, content: [{ type: "text", text }] }),
    }),
    defineTool({
      name: "steps",
      title: "Steps",
      description: "Tells each of its steps.",
      scopes: [],
      annotations: { readOnlyHint: true },
      input: z.object({ count: z.number(), milliseconds: z.number() }),
      async run({ count, milliseconds }, context) {
        for (let step = 1; step <= count; step++) {
          await pause(milliseconds, context.signal);
          context.progress({ progress: step, total: count });
        }
        return { ok: true, content: [{ type: "text", text: context.signal.aborted ? "stopped" : "all steps" }] };
      },
    }),
    defineTool({
      name: "work",
      title: "Work",
      description: "Works for a while.",
      scopes: [],
      annotations: { readOnlyHint: true },
      input: z.object({ milliseconds: z.number(), text: z.string(), asks: z.boolean() }),
      async run({ milliseconds, text, asks }, context) {
        await context.handOut({ required: true });
        for (let step = 1; step <= 4; step++) {
          await pause(milliseconds / 4, context.signal);
          context.progress({ progress: step, total: 4 });
        }
        if (asks) await context.ask({ well: form });
        return { ok: true, content: [{ type: "text", text }] };
      },
    }),
  ];
}
