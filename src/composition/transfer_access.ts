/** Who may use a link to a file: a person whose access still holds, while calls of the client are not stopped. */
import type { Verifier } from "../authorization_server/token/verifier.ts";
import type { Live } from "../live/live.ts";

type TransferAccess = Pick<Verifier, "isLive" | "changeCount">;

export function createTransferAccess(
  verifier: TransferAccess,
  live: Pick<Live, "callWatch" | "switches">,
): TransferAccess {
  let known = live.switches;
  let changes = 0;
  return {
    isLive: async (principal) => live.callWatch.refusal(principal) === null && await verifier.isLive(principal),
    async changeCount() {
      if (live.switches !== known) {
        known = live.switches;
        changes += 1;
      }
      return changes + await verifier.changeCount(); // both only grow
    },
  };
}
