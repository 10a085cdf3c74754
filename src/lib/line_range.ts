/** Ranges of lines, as callers write them in signs or in words: only what can mean nothing else. */

/** Numbers from 1, both included; with neither `startLine` nor `tail` it is the whole text. */
export interface LineRange {
  readonly startLine?: number;
  readonly endLine?: number;
  /** So many last lines. */
  readonly tail?: number;
}

const number = String.raw`(\d{1,9})`;
const end = String.raw`(?:-1|\$|eof|end(?: of file)?)`;
const to = String.raw`\s?(?:-|–|—|,|:|\.{2,3}|to|through|thru|until|till|up to)\s?`;
const [between, open, first, last, one] = [
  String.raw`(?:from )?${number}${to}${number}|between ${number} and ${number}`,
  String
    .raw`(?:from |starting (?:at|from|with) )?${number}\s?(?:-|${to}${end}|\+|on|onwards?|and (?:on|onwards?|following))` +
  `|(?:from|starting (?:at|from|with)) ${number}`,
  String.raw`(?:first|top|head|up to|until|through)\s?-?${number}`,
  String.raw`(?:last|final|bottom|tail)\s?-?${number}|-${number}`,
  String.raw`(?:only )?${number}`,
].map((form) => new RegExp(`^(?:${form})$`));

/** The lines that a text names: `2-4`, `L2..L4`, `lines 10 to 20`, `from 10 on`, `first 50 lines`, `last 20`; `null` for others. */
export function parseLineRange(text: string): LineRange | null {
  if (text.length > 100) return null;
  const plain = text.trim().toLowerCase().replace(/^[([]\s*(.*?)\s*[)\]]$/, "$1");
  const words = plain.replace(/\(?inclusive\)?$/, "").replace(/^(?:the )?(first|last) line$/, "$1 1")
    .replaceAll(/\b(?:lines?|the|numbers?)\b/g, " ").replaceAll(/\bl(?=\d)/g, "")
    .replaceAll(/\s+/g, " ").trim();
  const numbersIn = (form: RegExp | undefined) =>
    form?.exec(words)?.slice(1).filter((each) => each !== undefined).map(Number);
  if (/^(?:all|whole file|entire file|everything)$/.test(words)) return {};
  const [startLine, endLine] = numbersIn(between) ?? [];
  if (startLine !== undefined && endLine !== undefined) return { startLine, endLine };
  const [from] = numbersIn(open) ?? [];
  if (from !== undefined) return { startLine: from };
  const [count] = numbersIn(first) ?? [];
  if (count !== undefined) return { startLine: 1, endLine: count };
  const [tail] = numbersIn(last) ?? [];
  if (tail !== undefined) return { tail };
  const [only] = /^(?:line|l)/.test(plain) && !plain.startsWith("lines") ? numbersIn(one) ?? [] : [];
  return only === undefined ? null : { startLine: only, endLine: only };
}
