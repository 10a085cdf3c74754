/** Members of verified tokens. */

/** Whether a claim is a text that is neither empty nor longer than this. */
export function isText(value: unknown, maxCharacters: number): value is string {
  return typeof value === "string" && value !== "" && value.length <= maxCharacters;
}
