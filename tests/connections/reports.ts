/** What the command says of the attempts at a server. */
import assert from "node:assert/strict";
import { runCommand, type ServerPlace } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

export interface AttemptLine {
  readonly kind: "attempt" | "check";
  readonly name: string;
  readonly state: string;
  readonly text?: string;
  readonly people: readonly string[];
  readonly causes: readonly { readonly id: string; readonly words: string; readonly remedy: string }[];
  readonly steps: readonly { readonly agent?: string; readonly kind: string }[];
}

type Variables = Readonly<Record<string, string>>;

/** All lines of `connections --json`. */
export async function reportLines(place: ServerPlace, env: Variables): Promise<readonly AttemptLine[]> {
  const { stdout, stderr } = await runCommand(["connections", "--json"], {
    env: { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir, ...env },
  });
  assert.notEqual(stdout, "", stderr);
  return stdout.trim().split("\n").map((line) => JSON.parse(line));
}

/** The attempts, once all have stopped for long enough to be judged. */
export async function judgedAttempts(place: ServerPlace, env: Variables): Promise<readonly AttemptLine[]> {
  return await until("all attempts have stopped", async () => {
    const found = (await reportLines(place, env)).filter(({ kind }) => kind === "attempt");
    return found.length > 0 && !found.some(({ state }) => state === "going_on") && found;
  });
}
