/** The ServiceNow tools that an installation offers. */
import type { Tool } from "../../mcp/tool.ts";
import type { ServicenowRecords } from "../../servicenow/port.ts";
import { servicenowAddNoteTool } from "./add_note.ts";
import { servicenowApproveTool } from "./approve.ts";
import { askToLink } from "./ask_to_link.ts";
import { servicenowAttachTool } from "./attach.ts";
import { servicenowCountTool } from "./count.ts";
import { servicenowCreateTool } from "./create.ts";
import { servicenowDescribeTool } from "./describe.ts";
import { servicenowFetchAttachmentTool } from "./fetch_attachment.ts";
import type { AttachmentFiles } from "./files.ts";
import { formerReadingTools, formerWritingTools } from "./former_tools.ts";
import { servicenowGetRecordTool } from "./get_record.ts";
import { servicenowOrderTool } from "./order.ts";
import { servicenowSearchTool } from "./search.ts";
import { servicenowUpdateTool } from "./update.ts";

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
