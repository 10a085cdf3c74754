/** The worker of {@link ./fleet_server.ts}: the server with tools that ask, and that wait for a word to this process. */
import { z } from "zod";
import { runServerInWorker } from "../../src/app/run_in_worker.ts";
import { defineTool, type ToolOutcome } from "../../src/mcp/tool.ts";

/** How a gate is: not there, waited at, opened, or left by a call that was stopped. */
type GateState = "unknown" | "waiting" | "opened" | "stopped";

interface Gate {
  state: GateState;
  readonly opened: PromiseWithResolvers<void>;
}

const gates = new Map<string, Gate>();
const told = (text: string): ToolOutcome => ({ ok: true, content: [{ type: "text", text }] });
const gateName = z.object({ gate: z.string() });
const common = { scopes: ["files:read"], annotations: {} };

const greet = defineTool({
  ...common,
  name: "greet",
  title: "Greet",
  description: "Asks who is there.",
  input: z.object({}),
  run: async (_input, context) => {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } } } as const;
    const asked = await context.ask({
      who: { method: "elicitation/create", params: { message: "Who are you?", requestedSchema } },
    });
    return told(asked.ok ? JSON.stringify(asked.value.who.content) : asked.error.message);
  },
});

const waitAtGate = defineTool({
  ...common,
  name: "wait_at_gate",
  title: "Wait at a gate",
  description: "Waits until the gate of this name is opened.",
  input: gateName.extend({ asTask: z.boolean().default(false) }),
  run: async ({ gate: name, asTask }, context) => {
    const gate: Gate = { state: "waiting", opened: Promise.withResolvers() };
    gates.set(name, gate);
    if (asTask) await context.handOut({ required: true });
    context.progress({ progress: 1 });
    context.signal.addEventListener("abort", () => {
      gate.state = "stopped";
      gate.opened.resolve();
    });
    await gate.opened.promise;
    if (gate.state === "opened") context.progress({ progress: 2 });
    return told(gate.state);
  },
});

const openGate = defineTool({
  ...common,
  name: "open_gate",
  title: "Open a gate",
  description: "Lets the call that waits at the gate go on.",
  input: gateName,
  run: ({ gate: name }) => {
    const gate = gates.get(name);
    if (gate?.state === "waiting") gate.state = "opened";
    gate?.opened.resolve();
    return told(gate?.state ?? "unknown");
  },
});

const gateState = defineTool({
  ...common,
  name: "gate_state",
  title: "State of a gate",
  description: "Says how a gate is.",
  input: gateName,
  run: ({ gate }) => told(gates.get(gate)?.state ?? "unknown"),
});

runServerInWorker([greet, waitAtGate, openGate, gateState]);
