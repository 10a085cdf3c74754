/**
 * Text that every match of an expression holds, so that lines without it need no engine. It knows less of RE2's syntax
 * than RE2 does and says `null` wherever it is not sure.
 */

/** The longest such text that is easily seen, or `null`. The expression is matched with regard to case. */
export function requiredLiteral(expression: string): string | null {
  if (/\(\?(?!:)/.test(expression)) return null; // flags change what a letter stands for
  let longest = "";
  let run: string[] = [];
  let depth = 0;
  const endRun = (): void => {
    const text = run.join("");
    if (text.length > longest.length) longest = text;
    run = [];
  };
  for (let at = 0; at < expression.length;) {
    const character = String.fromCodePoint(expression.codePointAt(at) ?? 0);
    at += character.length;
    if (character === "|" && depth === 0) return null;
    if (character === "\\") {
      const escaped = expression[at++] ?? "";
      if (/^[dDwWsSbBAz]$/.test(escaped)) endRun();
      else if (/^[!-/:-@[-`{-~]$/.test(escaped)) run.push(escaped);
      else return null;
    } else if (character === "[") {
      const end = endOfClass(expression, at);
      if (end === null) return null;
      at = end;
      endRun();
    } else if ("*?{".includes(character)) {
      run.pop(); // none of it may be enough
      endRun();
      if (character === "{") at += /^\d+(?:,\d*)?\}/.exec(expression.slice(at))?.[0].length ?? 0;
    } else if ("()+.^$|".includes(character)) {
      endRun();
      if (character === "(") depth++;
      if (character === ")") depth--;
    } else {
      run.push(character);
    }
    if (depth > 0) run = []; // the group may be optional
  }
  endRun();
  return longest === "" ? null : longest;
}

/** The offset after a class whose content starts at `start`; `null` when that cannot be told. */
function endOfClass(expression: string, start: number): number | null {
  let at = start;
  if (expression[at] === "^") at++;
  if (expression[at] === "]") at++; // a bracket of its own at the beginning
  for (; at < expression.length; at++) {
    if (expression[at] === "]") return at + 1;
    if (expression[at] === "[") return null; // perhaps [:alpha:]
    if (expression[at] === "\\") {
      if (/[Qpx]/i.test(expression[++at] ?? "Q")) return null;
    }
  }
  return null;
}
