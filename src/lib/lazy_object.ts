/** Schemas of objects that are made when they are first used. */
import * as z from "zod";

/** `z.object`, made when it is first used: a start that makes every schema takes a tenth longer. */
export function lazyObject<Shape extends z.ZodRawShape>(
  shape: () => Shape,
): z.ZodLazy<z.ZodObject<Shape, z.core.$strip>> {
  return z.lazy(() => z.object(shape()));
}
