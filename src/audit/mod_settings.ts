/** How long the stored audit is kept. */
import { parseDuration, parseInteger } from "../lib/parsers.ts";
import { mebibyte, required, type ValuesOf } from "../lib/setting.ts";

/** Settings under the heading Audit. */
export const auditSettings = {
  keepMs: required({
    env: "AUDIT_KEEP",
    default: "30d",
    parse: parseDuration,
    help: "how long the stored audit is kept, such as 30d or 12h",
  }),
  maxBytes: required({
    env: "AUDIT_MAX_BYTES",
    default: String(64 * mebibyte),
    parse: parseInteger(0, 2 ** 40),
    help: "bytes of the stored audit, oldest lines removed first; 0 stores none",
  }),
};

export type AuditSettings = ValuesOf<typeof auditSettings>;
