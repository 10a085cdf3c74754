/** The names of all tools that a configuration may give: a rule about one that is switched off here still means it. */
const names: ReadonlySet<string> = new Set([
  ...["file_read", "file_write", "file_list", "file_edit", "file_move", "file_delete", "file_search", "file_undo"],
  ...["llm_generate", "llm_models"],
  ...["servicenow_search", "servicenow_count", "servicenow_get_record", "servicenow_describe", "servicenow_create"],
  ...["servicenow_update", "servicenow_add_note", "servicenow_approve", "servicenow_order", "servicenow_attach"],
  "servicenow_fetch_attachment",
]);

export function isKnownTool(name: string): boolean {
  return names.has(name);
}
