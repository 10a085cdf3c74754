/** What a search looks for. */
import { type AuditLine, encodeField } from "./line.ts";

/** Everything that is given has to fit. */
export interface AuditFilter {
  readonly person?: string | undefined;
  readonly client?: string | undefined;
  readonly tool?: string | undefined;
  /** Part of what was touched: a path, a record, a model. */
  readonly target?: readonly string[];
  /** An outcome, `refused` for every kind of refusal, `failed` for every kind of failure. */
  readonly outcome?: string | undefined;
  /** Milliseconds since the epoch, both included. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** Outcomes that one word stands for. */
const outcomeGroups: Readonly<Record<string, readonly string[]>> = {
  refused: ["refused", "insufficient_scope", "rate_limited", "stopped"],
  failed: ["tool_error", "protocol_error", "internal_error", "unavailable"],
};

/** The filter, ready to be used on many lines. */
interface PreparedFilter {
  /** Whether a text of one or more lines, with what one of them leaves out, may hold one that fits: much faster than reading them. */
  mayHold(text: string, spelled?: string): boolean;
  fits(line: AuditLine): boolean;
}

export function prepareFilter(
  { person, client, tool, target = [], outcome, since, until }: AuditFilter,
): PreparedFilter {
  const outcomes = outcome === undefined ? null : outcomeGroups[outcome] ?? [outcome];
  const whole = [person, client, tool].filter((each) => each !== undefined).map((each) => `|${encodeField(each)}|`);
  const needles = [...whole, ...target.map(encodeField)];
  const outcomeNeedles = outcomes?.map((each) => `|${encodeField(each)}|`);
  const isAbsent = (wanted: string | undefined, found: string | null): boolean =>
    wanted !== undefined && wanted !== found;
  return {
    mayHold(text, spelled = text) {
      const holds = (needle: string): boolean =>
        text.includes(needle) || (spelled !== text && spelled.includes(needle));
      return needles.every(holds) && (outcomeNeedles === undefined || outcomeNeedles.some(holds));
    },
    fits(line) {
      if (isAbsent(person, line.person) || isAbsent(client, line.client) || isAbsent(tool, line.tool)) return false;
      if (outcomes !== null && !outcomes.includes(line.outcome ?? "")) return false;
      if ((since !== undefined && line.time < since) || (until !== undefined && line.time > until)) return false;
      return target.every((part) => line.target?.includes(part) ?? false);
    },
  };
}
