/** The ServiceNow tools that an installation offers. */
import type { Tool } from "../mcp/tool.ts";
import type { ServicenowRecords } from "../servicenow/port.ts";
import { servicenowAddAttachmentTool } from "./servicenow_add_attachment.ts";
import { servicenowAddCommentTool } from "./servicenow_add_comment.ts";
import { servicenowCreateIncidentTool } from "./servicenow_create_incident.ts";
import type { AttachmentFiles } from "./servicenow_files.ts";
import { servicenowGetRecordTool } from "./servicenow_get_record.ts";
import { servicenowListAttachmentsTool } from "./servicenow_list_attachments.ts";
import { servicenowMyProfileTool } from "./servicenow_my_profile.ts";
import { servicenowSaveAttachmentTool } from "./servicenow_save_attachment.ts";
import { servicenowSearchTool } from "./servicenow_search.ts";

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
