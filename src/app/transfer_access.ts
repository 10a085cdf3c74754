/**
 * Who may use a link to a file: a person whose access still holds, while calls of the client are not stopped, for what
 * the rules about calls allow.
 */
import type { Verifier } from "../oauth/verifier.ts";
import type { Live } from "../console/live/live.ts";
import type { Access } from "../files/transfer/running.ts";
import type { Approval } from "./approval.ts";
import { placeReader } from "./approval_places.ts";

const tools = { download: "file_read", upload: "file_write" };

export function createTransferAccess(
  verifier: Pick<Verifier, "isLive" | "changeCount">,
  live: Pick<Live, "callWatch" | "switches">,
  { judge, rules }: Pick<Approval, "judge" | "rules">,
): Access {
  let known: unknown[] = [];
  let changes = 0;
  return {
    isLive: async (principal) => live.callWatch.refusal(principal) === null && await verifier.isLive(principal),
    async judge({ principal, direction, path }) {
      const { subject: person, clientId, grantId } = principal;
      const paths = placeReader.pathNames(path);
      const [place = path, ...otherNames] = paths;
      const call = { person, clientId, grantId, tool: tools[direction], changes: direction === "upload" };
      const rule = await judge({ ...call, places: [place], otherNames, paths }, principal);
      return rule?.verdict === "ask" ? { ask: rule.id } : rule?.verdict ?? "allow";
    },
    async changeCount() {
      const now = [live.switches, rules.current];
      // what a name leads to may change without a word
      const mayLeadElsewhere = rules.current.some(({ place }) => place !== undefined);
      if (mayLeadElsewhere || now.some((each, index) => each !== known[index])) changes += 1;
      known = now;
      return changes + await verifier.changeCount(); // both only grow
    },
  };
}
