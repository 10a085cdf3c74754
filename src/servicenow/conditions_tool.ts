/** Conditions as parameters: lines in `where`, and columns that agents guess as parameters of their own. */
import * as z from "zod";
import { given } from "./outcome_tool.ts";

export const whereParameter: z.ZodOptional<z.ZodString> = z.string().optional().describe(
  "Conditions, one a line, in labels:\nstate=New|In Progress\nassigned_to=me\nassignment_group=my groups\n" +
    "opened_at>=last week\ncmdb_ci is empty\nshort_description contains vpn",
).meta({ written: "lines" });

const unlisted = (): z.ZodOptional<z.ZodString> => z.string().optional().meta({ unlisted: true, written: "text" });

/** Understood and not listed; each stands for a line of `where`. */
export const conditionParameters = {
  number: unlisted(),
  state: unlisted(),
  priority: unlisted(),
  category: unlisted(),
  active: z.boolean().optional().meta({ unlisted: true }),
  assigned_to: unlisted(),
  assignment_group: unlisted(),
  caller: unlisted(),
  cmdb_ci: unlisted(),
  updated_after: unlisted(),
  updated_before: unlisted(),
};

type Conditions =
  & { readonly where?: string | undefined; readonly active?: boolean | undefined }
  & {
    readonly [Name in Exclude<keyof typeof conditionParameters, "active">]?: string | undefined;
  };

const comparedNames = (Object.keys(conditionParameters) as (keyof typeof conditionParameters)[])
  .filter((name) => name !== "active" && name !== "updated_after" && name !== "updated_before");

/** All conditions as lines. */
export function whereOf(input: Conditions): string | undefined {
  const lines = given(input.where) === undefined ? [] : [input.where ?? ""];
  for (const name of comparedNames) {
    const value = given(input[name])?.replaceAll(/\s+/g, " ");
    if (value !== undefined) lines.push(`${name} = ${value}`);
  }
  if (input.active !== undefined) lines.push(`active = ${input.active}`);
  for (const [name, sign] of [["updated_after", ">="], ["updated_before", "<="]] as const) {
    const value = given(input[name])?.replaceAll(/\s+/g, " ");
    if (value !== undefined) lines.push(`sys_updated_on ${sign} ${value}`);
  }
  return lines.length === 0 ? undefined : lines.join("\n");
}
