/** The requests of all revisions by name. */
import { defaultLegacyRevision } from "../revisions/legacy.ts";
import { modernMethods } from "../revisions/modern.ts";

/** Whatever else a caller names is no method of ours. */
export const methodNames: ReadonlySet<string> = new Set([...defaultLegacyRevision.methods, ...modernMethods]);
