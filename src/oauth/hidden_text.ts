/** What the log says in the place of a text from a caller: a passphrase or a token may have been sent in any field. */
import type { SecretBox } from "../lib/secret_box.ts";

const shownCharacters = 8;

/** Its length and a MAC, by which equal texts are known again; a plain hash would let a passphrase be guessed. */
export function hiddenText(secrets: SecretBox, text: string): string {
  const mac = secrets.authenticate("log-text", text);
  return `(${text.length} characters, ${mac.slice(0, shownCharacters)})`;
}
