/** The worker of {@link ./broken_server.ts}: the server with tools that try to get out, or to end it. */
import { z } from "zod";
import { defineTool } from "../../src/mcp/tool.ts";
import { runServerInWorker } from "../../src/app/run_in_worker.ts";
import type { KernelRoots } from "../../src/lib/kernel/descriptor.ts";
import { attemptTool } from "./attempt_tool.ts";
import { attempts } from "./attempts.ts";

/** Without a counterpart in a free process: they would change the test process itself, or load code into it. */
const moreAttempts: typeof attempts = {
  "work in the workspace": ({ workspaceDir }) => {
    Deno.writeTextFileSync(`${workspaceDir}/made.txt`, "made");
    return Deno.readTextFileSync(`${workspaceDir}/made.txt`);
  },
  "follow a link that was planted": ({ workspaceDir }) => Deno.readTextFileSync(`${workspaceDir}/planted`),
  "import code from elsewhere": ({ elsewhere }) => import(`http://${elsewhere.hostname}:${elsewhere.port}/code.js`),
  "import a file": ({ secretPath }) => import(`file://${secretPath}`),
  "load the binding again": async () => {
    const { loadKernel } = await import("../../src/lib/kernel/kernel.ts");
    return loadKernel().available || Promise.reject(new Error("not available"));
  },
  "open a directory outside by the worker's descriptors": async () => (await kernelOfWorker()).open("/etc"),
  "leave the workspace by the worker's descriptors": async ({ workspaceDir }) =>
    (await kernelOfWorker()).open(`${workspaceDir}/../`),
  "lead a link outside by methods that it replaces": async ({ workspaceDir, secretPath }) => {
    const root = (await kernelOfWorker()).open(workspaceDir);
    const { [Symbol.iterator]: iterate } = String.prototype;
    const act = function (this: string) {
      root.tryOpen(`${"../".repeat(99)}${secretPath}`, "read"); // leaves its path where the first name was
      return iterate.call(this);
    };
    Object.defineProperty(String.prototype, Symbol.iterator, { value: act, configurable: true, writable: true });
    try {
      root.link("absent", root, "taken\udcff");
    } finally {
      Object.defineProperty(String.prototype, Symbol.iterator, { value: iterate, configurable: true, writable: true });
      root.close();
    }
    return "linked";
  },
  "make a descriptor from a number": async ({ workspaceDir }) => {
    const root = (await kernelOfWorker()).open(workspaceDir);
    return new (root.constructor as new (...args: unknown[]) => unknown)(Symbol(), -100);
  },
  "start a worker that may do more": () =>
    new Worker("data:text/javascript,", { type: "module", deno: { permissions: { read: true } } }),
  "ask for permission": async () => {
    const { state } = await Deno.permissions.request({ name: "read", path: "/etc/passwd" });
    if (state !== "granted") throw new Deno.errors.NotCapable(state);
  },
};

async function kernelOfWorker(): Promise<KernelRoots> {
  const { workspaceKernel } = await import("../../src/app/sandbox/workspace_kernel.ts");
  if (!workspaceKernel.available) throw new Error(workspaceKernel.reason);
  return workspaceKernel.roots;
}

const endings: Readonly<Record<string, () => void>> = {
  throw: () => {
    throw new Error("thrown where nobody catches");
  },
  reject: () => void Promise.reject(new Error("rejected where nobody catches")),
  exit: () => Deno.exit(0),
  close: () => self.close(),
  loop: () => {
    for (;;);
  },
};

const endTool = defineTool({
  name: "end",
  title: "End",
  description: "Ends the server in the way that it is told.",
  scopes: ["files:read"],
  annotations: {},
  input: z.object({ how: z.string() }),
  run: ({ how }) => {
    setTimeout(() => endings[how]?.(), 1);
    return { ok: true, content: [] };
  },
});

runServerInWorker([attemptTool({ ...attempts, ...moreAttempts }), endTool]);
