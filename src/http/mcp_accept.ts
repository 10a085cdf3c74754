/** What a caller of `/mcp` accepts. No answer is refused for it: the kind of the answer follows it as far as it goes. */

/** Whether an Accept header asks for event streams by name (RFC 9110 §12.5.1). A wildcard does not. */
export function acceptsEventStream(accept: string | null): boolean {
  if (accept === null) return false;
  return accept.toLowerCase().split(",").some((range) => {
    const [type, ...parameters] = range.split(";").map((part) => part.trim());
    return type === "text/event-stream" && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

/** Whether a caller names event streams and nothing that JSON would fit. */
export function acceptsOnlyEventStreams(accept: string | null): boolean {
  return accept !== null && !accept.includes("json") && !accept.includes("*") && acceptsEventStream(accept);
}
