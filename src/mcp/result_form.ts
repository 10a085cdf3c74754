/** What stands beside the text of a tool's result, which depends on what the caller gives its model. */
import type { Profile } from "./profile.ts";

/** Who gets structured content: `auto` leaves it out for clients that would give it to their model in place of the text. */
export type StructuredResults = "auto" | "always" | "never";

/**
 * `text`: nothing. `structured`: the tool's structured content, or else the text itself, so that no caller reads an
 * empty object in place of the answer. `structured_or_empty`: `{}` where the tool has none, as ServiceNow's guide has it.
 */
export type ResultForm = "text" | "structured" | "structured_or_empty";

/** The form for a caller; `readsTextAlone` is what its name says, beside its registration. */
export function resultFormOf(setting: StructuredResults, profile: Profile, readsTextAlone: boolean): ResultForm {
  if (setting === "never") return "text";
  if (profile.name === "servicenow") return "structured_or_empty";
  return setting === "auto" && (profile.readsTextAlone || readsTextAlone) ? "text" : "structured";
}
