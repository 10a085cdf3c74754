/** The header `Range` of one part (RFC 9110 §14.1.2). */

/** From the first byte to the one after the last; `whole` where the header asks for nothing that is understood. */
type RequestedRange = [number, number] | "whole" | "unsatisfiable";

/** Several ranges, which §14.2 lets a server ignore, are answered with the whole file. */
export function parseRange(header: string | null, sizeBytes: number): RequestedRange {
  const found = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header?.replace(/[ \t]/g, "") ?? "");
  if (found === null) return "whole";
  const [, first = "", last = ""] = found;
  if (first === "" && last === "") return "whole";
  if (first === "") {
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? "unsatisfiable" : [sizeBytes - length, sizeBytes];
  }
  if (last !== "" && Number(last) < Number(first)) return "whole"; // §14.1.1: not valid, so ignored
  if (Number(first) >= sizeBytes) return "unsatisfiable";
  return [Number(first), last === "" ? sizeBytes : Math.min(Number(last) + 1, sizeBytes)];
}
