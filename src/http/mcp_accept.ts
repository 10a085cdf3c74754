/** What a caller of `/mcp` accepts. No answer is refused for it: the kind of the answer follows it as far as it goes. */

/** The media types of an Accept header in lower case, without those that are refused by `q=0` (RFC 9110 §12.4.2). */
function acceptedTypes(accept: string | null): readonly string[] {
  if (accept === null || accept === "") return [];
  return accept.toLowerCase().split(",").flatMap((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    return type === "" || parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) ? [] : [type];
  });
}

/** Whether an Accept header asks for event streams by name (RFC 9110 §12.5.1). A wildcard does not. */
export function acceptsEventStream(accept: string | null): boolean {
  return accept !== null && acceptedTypes(accept).includes("text/event-stream");
}

/** Whether a caller asks for JSON by name and for nothing else. */
export function acceptsJsonAlone(accept: string | null): boolean {
  const types = acceptedTypes(accept);
  return types.length > 0 && types.every((type) => type === "application/json");
}

/** Whether a caller takes anything: by a wildcard that fits JSON, or by no Accept header (RFC 9110 §12.5.1). */
export function acceptsAnything(accept: string | null): boolean {
  const types = acceptedTypes(accept);
  return types.length === 0 || types.some((type) => type === "*/*" || type === "application/*");
}

/** Whether a caller names event streams and nothing that JSON would fit. */
export function acceptsOnlyEventStreams(accept: string | null): boolean {
  return accept !== null && !accept.includes("json") && !accept.includes("*") && acceptsEventStream(accept);
}
