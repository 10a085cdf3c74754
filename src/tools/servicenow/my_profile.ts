/** The tool `servicenow_my_profile`: the account that the user acts as. */
import * as z from "zod";
import { defineTool, type Tool } from "../../mcp/tool.ts";
import type { ServicenowRecords } from "../../servicenow/port.ts";
import { callerOf, recordOutput, toFailureOutcome, toJsonOutcome, toRecordOutput } from "./outcome.ts";

/** Reads the caller's own profile from `servicenow`. */
export function servicenowMyProfileTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_my_profile",
    title: "Read my ServiceNow profile",
    description: "Shows the user's ServiceNow account: name, email address, title, department, time zone.",
    scopes: ["servicenow:read"],
    annotations: { title: "Read my ServiceNow profile", readOnlyHint: true, openWorldHint: true },
    input: z.object({}),
    output: recordOutput,
    async run(_input, context) {
      const found = await servicenow.reader.me(callerOf(context));
      if (!found.ok) return toFailureOutcome(servicenow, found.error);
      return toJsonOutcome(toRecordOutput(found.value));
    },
  });
}
