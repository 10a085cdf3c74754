/** The official Python SDK and FastMCP's client: a Python program that reads what to do, a line of JSON at a time. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { approve } from "../../fixtures/owner.ts";
import type { Person } from "../../fixtures/person.ts";
import type { CallOptions, MakeClient } from "../story.ts";
import { toToolAnswer } from "../tool_answer.ts";
import { installFromPypi } from "./install_from_pypi.ts";

interface Line {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: string;
  readonly progress?: true;
  readonly authorize?: string;
}

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress: () => void;
}

interface Started {
  ask(what: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<unknown>;
  end(): Promise<void>;
}

const script = fileURLToPath(new URL("story_client.py", import.meta.url));

function start(python: string, args: readonly string[], person: Person): Started {
  const child = spawn(python, [script, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map<number, Waiting>();
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  let lastId = 0;
  const write = (message: unknown): void => void child.stdin.write(`${JSON.stringify(message)}\n`);
  createInterface({ input: child.stdout }).on("line", (text) => {
    const { id = 0, result, error, progress, authorize } = JSON.parse(text) as Line;
    if (authorize !== undefined) {
      approve(person, new URL(authorize)).then(({ href }) => write({ do: "callback", url: href }))
        .catch((failure) => write({ do: "callback", error: `${failure}`.slice(0, 200) }));
      return;
    }
    const request = waiting.get(id);
    if (progress) return request?.onProgress();
    waiting.delete(id);
    if (error === undefined) request?.resolve(result);
    else request?.reject(new Error(error));
  });
  ended.then(() => waiting.forEach(({ reject }) => reject(new Error("the Python program ended"))));
  return {
    ask: (what, { onProgress = () => {}, signal } = {}) =>
      new Promise((resolve, reject) => {
        const id = ++lastId;
        waiting.set(id, { resolve, reject, onProgress });
        signal?.addEventListener("abort", () => write({ do: "cancel", id }));
        write({ id, ...what });
      }),
    async end() {
      child.stdin.end();
      child.kill();
      await ended;
    },
  };
}

/** Installs a library, to be used in a mode: "auto" or "legacy". */
export function pythonClient(library: "mcp" | "fastmcp", packages: readonly string[], mode: string) {
  return async (stack: AsyncDisposableStack): Promise<MakeClient> => {
    const python = await installFromPypi(stack, packages);
    return ({ endpoint, person }) => {
      const { ask, end } = start(python, [library, mode, endpoint.href], person);
      stack.defer(end);
      return {
        connect: async () => void await ask({ do: "connect" }), // with an empty store each time
        tools: async () => await ask({ do: "tools" }) as string[],
        call: async (name, input, options) => toToolAnswer(await ask({ do: "call", name, input }, options)),
        close: async () => void await ask({ do: "close" }),
      };
    };
  };
}
