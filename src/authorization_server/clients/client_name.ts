/** Names that clients give themselves, made fit to be shown to a person. */

const maxNameCharacters = 60;

/** Without control, bidirectional and zero-width characters, on one line, cut to a length; a stand-in when empty. */
export function cleanClientName(name: string | undefined): string {
  const visible = (name ?? "").normalize("NFKC")
    .replace(/[\s\p{Z}]+/gu, " ")
    .replace(/[\p{C}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]/gu, "")
    .trim();
  const short = [...visible].slice(0, maxNameCharacters).join("").trim();
  return short === "" ? "An application without a name" : short;
}
