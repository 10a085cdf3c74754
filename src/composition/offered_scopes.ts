/** The scopes that a configuration offers. */
import type { Config } from "../config/config.ts";
import { offeredScopes } from "../scopes.ts";

/** Those of ServiceNow only with an instance, and the one that writes there only where the operator turned it on. */
export function scopesOf({ servicenow, servicenowWrite }: Config): readonly string[] {
  return offeredScopes({ servicenow: servicenow === undefined ? "off" : servicenowWrite ? "write" : "read" });
}
