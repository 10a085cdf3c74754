/** The ServiceNow tools that an installation offers. */
import type { Tool } from "../mcp/tool.ts";
import type { ServicenowRecords } from "./port.ts";
import { servicenowAddNoteTool } from "./add_note_tool.ts";
import { servicenowApproveTool } from "./approve_tool.ts";
import { askToLink } from "./ask_to_link_tool.ts";
import { servicenowAttachTool } from "./attach_tool.ts";
import { servicenowCountTool } from "./count_tool.ts";
import { servicenowCreateTool } from "./create_tool.ts";
import { servicenowDescribeTool } from "./describe_tool.ts";
import { servicenowFetchAttachmentTool } from "./fetch_attachment_tool.ts";
import type { AttachmentFiles } from "./files_tool.ts";
import { formerReadingTools, formerWritingTools } from "./former_tools.ts";
import { servicenowGetRecordTool } from "./get_record_tool.ts";
import { servicenowOrderTool } from "./order_tool.ts";
import { servicenowSearchTool } from "./search_tool.ts";
import { servicenowUpdateTool } from "./update_tool.ts";

/** Tools that read, and those that write if the operator has turned `writing` on. */
export function servicenowTools(
  servicenow: ServicenowRecords,
  { files, writing }: { readonly files: AttachmentFiles; readonly writing: boolean },
): readonly Tool[] {
  const create = servicenowCreateTool(servicenow);
  const attach = servicenowAttachTool(servicenow, files);
  const tools: readonly Tool[] = [
    servicenowSearchTool(servicenow),
    servicenowCountTool(servicenow),
    servicenowGetRecordTool(servicenow),
    servicenowDescribeTool(servicenow),
    servicenowFetchAttachmentTool(servicenow, files),
    ...formerReadingTools(servicenow, files),
    ...(writing
      ? [
        create,
        servicenowUpdateTool(servicenow),
        servicenowAddNoteTool(servicenow),
        servicenowOrderTool(servicenow),
        servicenowApproveTool(servicenow),
        attach,
        ...formerWritingTools(servicenow, { create, attach }),
      ]
      : []),
  ];
  return tools.map((tool) => askToLink(tool, servicenow.linking));
}
