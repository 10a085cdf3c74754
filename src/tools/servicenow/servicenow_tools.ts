/** The ServiceNow tools that an installation offers. */
import type { Tool } from "../../mcp/tool.ts";
import type { ServicenowRecords } from "../../servicenow/port.ts";
import { servicenowAddAttachmentTool } from "./add_attachment.ts";
import { servicenowAddCommentTool } from "./add_comment.ts";
import { servicenowCreateIncidentTool } from "./create_incident.ts";
import type { AttachmentFiles } from "./files.ts";
import { servicenowGetRecordTool } from "./get_record.ts";
import { servicenowListAttachmentsTool } from "./list_attachments.ts";
import { servicenowMyProfileTool } from "./my_profile.ts";
import { servicenowSaveAttachmentTool } from "./save_attachment.ts";
import { servicenowSearchTool } from "./search.ts";

/** Tools that read, and those that write if the operator has turned `writing` on. */
export function servicenowTools(
  servicenow: ServicenowRecords,
  { files, writing }: { readonly files: AttachmentFiles; readonly writing: boolean },
): readonly Tool[] {
  return [
    servicenowMyProfileTool(servicenow),
    servicenowGetRecordTool(servicenow),
    servicenowSearchTool(servicenow),
    servicenowListAttachmentsTool(servicenow),
    servicenowSaveAttachmentTool(servicenow, files),
    ...(writing
      ? [
        servicenowAddCommentTool(servicenow),
        servicenowCreateIncidentTool(servicenow),
        servicenowAddAttachmentTool(servicenow, files),
      ]
      : []),
  ];
}
