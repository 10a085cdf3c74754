/** Which tool a caller meant by a name that none has. */
import { closestWord } from "../lib/closest_word.ts";
import { hasScopes, type Principal } from "../lib/principal.ts";
import type { ToolRegistry } from "./registry.ts";
import { fold } from "./argument_forms.ts";

const maxNameCharacters = 128;

/** The tool that the caller may use and that is called nearly so, here or elsewhere; `null` when none is. */
export function nearestTool(name: string, tools: ToolRegistry, principal: Principal): string | null {
  if (name.length > maxNameCharacters) return null;
  const offered = tools.all().map(({ tool }) => tool).filter(({ scopes }) => hasScopes(principal, scopes));
  // clients put a server's name before it: mcp__files__file_read, files.file_read
  const plain = fold(name);
  const found = offered.find(({ name: own, knownAs = "" }) =>
    [own, ...knownAs.split(" ")].some((each) => plain === fold(each)) ||
    (plain.endsWith(fold(own)) && /[^a-z]/i.test(name))
  );
  return found?.name ?? closestWord(name, offered.map(({ name: own }) => own));
}
