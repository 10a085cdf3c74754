/** What messages say beside their parameters. */
import { isObject } from "../../lib/is_object.ts";

/** The `_meta` object of a message's params, when there is one. */
export function metaOf(params: unknown): Record<string, unknown> | undefined {
  const meta = isObject(params) ? params["_meta"] : undefined;
  return isObject(meta) ? meta : undefined;
}
