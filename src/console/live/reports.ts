/** What instances tell each other of the calls that run there. */
import * as z from "zod";

const optionalText = z.lazy(() => z.string().nullable());

export const instanceReport = z.lazy(() =>
  z.object({
    instance: z.string(),
    calls: z.array(z.object({
      /** Names it among the calls of all instances. */
      id: z.string(),
      instance: z.string(),
      person: z.string(),
      client: z.string(),
      /** The tool; for other requests the method. */
      tool: z.string(),
      target: optionalText,
      /** As JSON, cut short. */
      arguments: z.string(),
      /** Milliseconds since the epoch. */
      since: z.number(),
    })).readonly(),
    ended: z.array(z.object({
      time: z.number(),
      person: optionalText,
      client: optionalText,
      tool: optionalText,
      target: optionalText,
      outcome: optionalText,
      code: optionalText,
      durationMs: z.number().nullable(),
    })).readonly(),
    /** Whether it cancelled the call that the question named. */
    cancelled: z.boolean(),
  })
);

export type InstanceReport = z.infer<typeof instanceReport>;
export type LiveCall = Readonly<InstanceReport["calls"][number]>;
export type EndedCall = Readonly<InstanceReport["ended"][number]>;
