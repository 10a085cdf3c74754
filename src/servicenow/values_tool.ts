/** Values of fields as parameters: lines in `values`, and fields that agents guess as parameters of their own. */
import * as z from "zod";
import { failure, type Result, success } from "../lib/result.ts";
import { given } from "./outcome_tool.ts";

export const valuesParameter: z.ZodOptional<z.ZodString> = z.string().optional().describe(
  'One name=value a line, in labels, or a JSON object: {"state": "Resolved", "assigned_to": "ada"}',
).meta({ written: "values" });

const unlisted = (): z.ZodOptional<z.ZodString> => z.string().optional().meta({ unlisted: true, written: "text" });

/** Understood and not listed; each stands for one of `values`. */
export const valueParameters = {
  short_description: unlisted(),
  description: unlisted(),
  urgency: unlisted(),
  impact: unlisted(),
  category: unlisted(),
  state: unlisted(),
  priority: unlisted(),
  assigned_to: unlisted(),
  assignment_group: unlisted(),
  close_code: unlisted(),
  close_notes: unlisted(),
};

type Values =
  & { readonly values?: string | undefined }
  & {
    readonly [Name in keyof typeof valueParameters]?: string | undefined;
  };

/** All values as one text. */
export function valuesOf(input: Values, mayBeEmpty = false): Result<string, string> {
  const own = Object.keys(valueParameters) as (keyof typeof valueParameters)[];
  const entries = own.flatMap((name) => given(input[name]) === undefined ? [] : [[name, input[name]] as const]);
  const text = given(input.values) ?? "";
  if (entries.length === 0) return text === "" && !mayBeEmpty ? failure("values parameter is required") : success(text);
  if (text === "") return success(JSON.stringify(Object.fromEntries(entries)));
  return failure(`give ${entries.map(([name]) => name).join(", ")} in values too`);
}
