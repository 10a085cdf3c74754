/** What must hold of the stored entries after each change, whatever went wrong. */
import { isDeepStrictEqual } from "node:util";
import type { Change } from "./simulated_database.ts";

const terminal = new Set(["completed", "failed", "cancelled"]);

type Fields = Readonly<Record<string, unknown>>;

/** Makes the check of each change. */
export function createStoredInvariants(violate: (problem: string) => void): (change: Change) => void {
  const ended = new Set<string>();
  return ({ keyText, key: [family], before, after, isSwept }: Change) => {
    const [was, is] = [before as Fields | null, after as Fields | null];
    if (family === "mcp_task" && is !== null && was !== null && terminal.has(String(was["status"]))) {
      const fields = (record: Fields): unknown => [record["status"], record["result"], record["error"]];
      if (!isDeepStrictEqual(fields(was), fields(is))) {
        violate(`a task that was ${was["status"]} became ${is["status"]}`);
      }
    }
    if (family === "grant") {
      if (is === null && !isSwept) ended.add(keyText);
      if (is !== null && ended.has(keyText)) violate("a grant that was ended is there again");
      const [from, to] = [generationOf(was), generationOf(is)];
      if (from !== null && to !== null && to !== from && to !== from + 1) {
        violate(`a refresh token family went from ${from} to ${to}`);
      }
    }
    if (family === "mcp_session" && was?.["ended"] === true && is !== null && is["ended"] !== true) {
      violate("a session that ended lives again");
    }
    if (family === "revoked_token" && is === null && !isSwept) violate("a revoked token is no longer revoked");
  };
}

function generationOf(grant: Fields | null): number | null {
  const refresh = grant?.["refresh"] as Fields | null | undefined;
  return typeof refresh?.["generation"] === "number" ? refresh["generation"] : null;
}
