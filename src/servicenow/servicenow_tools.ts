/** The ServiceNow tools that an installation offers. */
import type { Tool } from "../mcp/mod.ts";
import type { ServicenowRecords } from "./port.ts";
import {
  askToLink,
  servicenowAddNoteTool,
  servicenowApproveTool,
  servicenowCreateTool,
  servicenowOrderTool,
  servicenowUpdateTool,
} from "./write_tools.ts";
import { type AttachmentFiles, servicenowAttachTool, servicenowFetchAttachmentTool } from "./attach_tool.ts";
import {
  servicenowCountTool,
  servicenowDescribeTool,
  servicenowGetRecordTool,
  servicenowSearchTool,
} from "./read_tools.ts";

/** Tools that read, and those that write if the operator has turned `writing` on. */
export function servicenowTools(
  servicenow: ServicenowRecords,
  { files, writing }: { readonly files: AttachmentFiles; readonly writing: boolean },
): readonly Tool[] {
  const tools: readonly Tool[] = [
    servicenowSearchTool(servicenow),
    servicenowCountTool(servicenow),
    servicenowGetRecordTool(servicenow),
    servicenowDescribeTool(servicenow),
    servicenowFetchAttachmentTool(servicenow, files),
    ...(writing
      ? [
        servicenowCreateTool(servicenow),
        servicenowUpdateTool(servicenow),
        servicenowAddNoteTool(servicenow),
        servicenowOrderTool(servicenow),
        servicenowApproveTool(servicenow),
        servicenowAttachTool(servicenow, files),
      ]
      : []),
  ];
  return tools.map((tool) => askToLink(tool, servicenow.linking));
}
