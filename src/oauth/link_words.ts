/** What pages say of a link. */
import type { LinkHealth } from "./servicenow_port.ts";

export function accountName({ account }: LinkHealth): string {
  return account === null ? "Unknown" : `${account.name} (${account.userName})`;
}

/** Why a link does not work; `null` while it does. */
export function linkProblem({ state, said }: LinkHealth): string | null {
  switch (state) {
    case "linked":
      return null;
    case "refused": {
      const words = said === null ? "" : ` (“${said}”)`;
      return `ServiceNow refused to renew the sign-in${words}: it is too old, the password changed, or the account is locked.`;
    }
    case "no_refresh_token":
      return "The sign-in has ended, and ServiceNow gave no token to renew it with.";
    case "unreadable":
      return "The link cannot be read: it was sealed under a key that this server does not have.";
  }
}
