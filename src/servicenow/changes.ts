/** The two changes that agents may make: a comment, and a new incident. Neither is ever sent twice by itself. */
import { failure, success } from "../lib/result.ts";
import type { CallAs } from "./calls.ts";
import type { ServicenowFailure } from "./failure.ts";
import { recordSchema, storedValue } from "./field_values.ts";
import type { ServicenowInstance } from "./instance.ts";
import { maxTextCharacters, type RecordChanges, type RecordReader } from "./port.ts";
import { readableForm } from "./records.ts";
import { maxReplyBytes, parseResult } from "./reply.ts";
import { tables } from "./tables.ts";

export function createRecordChanges(
  { callAs, reader, instance }: {
    readonly callAs: CallAs;
    readonly reader: RecordReader;
    readonly instance: ServicenowInstance;
  },
): RecordChanges {
  const checkText = (name: string, text: string): ServicenowFailure | null => {
    if (text.trim() === "") return { reason: "invalid_input", message: `${name} must not be empty` };
    return text.length <= maxTextCharacters
      ? null
      : { reason: "invalid_input", message: `${name} must have at most ${maxTextCharacters} characters` };
  };
  const jsonBody = (value: unknown) => ({ type: "application/json", content: JSON.stringify(value) });

  return {
    async addComment(kind, id, { field, text }, caller) {
      const problem = checkText("text", text);
      if (problem !== null) return failure(problem);
      const sysId = await reader.resolve(kind, id, caller);
      if (!sysId.ok) return sysId;
      const answer = await callAs(caller, {
        method: "PATCH",
        path: `/api/now/table/${tables[kind].table}/${sysId.value}`,
        query: { ...readableForm, sysparm_fields: `sys_id,${field}` },
        body: jsonBody({ [field]: text }),
        accept: "json",
        maxBytes: maxReplyBytes,
      });
      if (!answer.ok) return answer;
      const parsed = parseResult(answer.value, recordSchema);
      const journal = parsed.ok ? storedValue(parsed.value, field) : "";
      return success({
        sysId: sysId.value,
        selfLink: instance.origin + tables[kind].pagePath(sysId.value),
        confirmed: oneLine(journal).includes(oneLine(text)),
      });
    },
    async createIncident(incident, caller) {
      const { shortDescription, description, urgency, impact, category } = incident;
      const problem = checkText("short_description", shortDescription) ??
        (description === undefined ? null : checkText("description", description));
      if (problem !== null) return failure(problem);
      const answer = await callAs(caller, (account) => ({
        method: "POST",
        path: "/api/now/table/incident",
        query: { ...readableForm, sysparm_fields: tables.incident.summaryFields.join(",") },
        body: jsonBody({
          short_description: shortDescription,
          description,
          urgency,
          impact,
          category,
          caller_id: account.sysId,
        }),
        accept: "json",
        maxBytes: maxReplyBytes,
      }));
      if (!answer.ok) return answer;
      const parsed = parseResult(answer.value, recordSchema);
      if (!parsed.ok) return failure({ reason: "unavailable", because: "bad_reply", uncertain: true });
      const sysId = storedValue(parsed.value, "sys_id");
      return success({ sysId, fields: parsed.value, selfLink: instance.origin + tables.incident.pagePath(sysId) });
    },
  };
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
