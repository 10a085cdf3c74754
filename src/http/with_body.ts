/** A request's body read within its caller's share of the memory. */
import { type BodyBounds, type BodyRefusal, readRequestText } from "../lib/request_text.ts";
import type { Result } from "../lib/result.ts";
import { type BodyIntake, requestBytes } from "./body_intake.ts";
import { refuseLoad } from "./mcp_response.ts";

/** Whose body is read, and how much of it. */
export interface BodyUse {
  readonly intake: BodyIntake;
  readonly caller: string;
  readonly declared: number | null;
  readonly bounds: BodyBounds;
}

/** Reads a body within the caller's share, which is held until the request is answered. */
export async function withBody<T>(
  request: Request,
  { intake, caller, declared, bounds }: BodyUse,
  answer: (read: Result<string, BodyRefusal>) => Promise<T>,
): Promise<T | Response> {
  let held = requestBytes + Math.min(declared ?? 0, bounds.maxBytes);
  const admission = intake.admit(caller, held);
  if (admission === "stopping") return refuseLoad("The server is stopping");
  if (admission === "over_share") return refuseLoad("Too many requests of yours are in flight");
  const admitMore = (bytes: number): boolean => {
    if (!intake.take(caller, bytes)) return false;
    held += bytes;
    return true;
  };
  try {
    const read = await readRequestText(request, bounds, { declared, admitMore });
    intake.arrived();
    if (!read.ok && intake.isAbandoned) return refuseLoad("The server is stopping");
    return await answer(read);
  } finally {
    intake.release(caller, held);
  }
}
