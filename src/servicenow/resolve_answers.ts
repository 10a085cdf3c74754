/** Answers to an item's questions, by the questions' names or labels and in people's words. */
import { type Result, success } from "../lib/result.ts";
import type { GivenValue } from "./value_lines.ts";
import type { DeskParts } from "./desk_parts.ts";
import { invalidInput, type ServicenowFailure } from "./failure.ts";
import { closestWord } from "../lib/closest_word.ts";
import type { Person } from "./person_cache.ts";
import type { CatalogItem, ItemQuestion } from "./catalog_port.ts";
import { resolveList, resolveReference } from "./references.ts";
import { datesOf } from "./person_dates.ts";

export interface ResolvedAnswers {
  /** By the questions' names, as the instance takes them. */
  readonly variables: Readonly<Record<string, string>>;
  readonly shown: readonly { readonly label: string; readonly value: string }[];
}

const maxChoicesShown = 20;

/** Unknown questions and missing mandatory answers are refused before anything is sent. */
export async function resolveAnswers(
  parts: DeskParts,
  { questions }: CatalogItem,
  given: readonly GivenValue[],
  person: Person,
): Promise<Result<ResolvedAnswers, ServicenowFailure>> {
  const variables: Record<string, string> = {};
  const shown: { readonly label: string; readonly value: string }[] = [];
  for (const [name, value] of given) {
    const question = questionNamed(questions, name);
    if (question === undefined) return invalidInput(unknownQuestion(questions, name));
    if (Object.hasOwn(variables, question.name)) return invalidInput(`${question.name} is answered twice`);
    const answer = await resolveAnswer(parts, question, value, person);
    if (!answer.ok) return answer;
    variables[question.name] = answer.value.stored;
    shown.push({ label: question.label, value: question.kind === "masked" ? "•••" : answer.value.shown });
  }
  const missing = questions.filter(({ name, mandatory, kind, initial }) =>
    mandatory && (kind === "checkbox" ? (variables[name] ?? initial) !== "true" : (variables[name] ?? initial) === "")
  );
  if (missing.length > 0) {
    return invalidInput(`answers must have ${missing.map(describeQuestion).join("; ")}. Nothing was sent`);
  }
  return success({ variables, shown });
}

function questionNamed(questions: readonly ItemQuestion[], given: string): ItemQuestion | undefined {
  const word = given.trim().toLowerCase().replace(/\?$/, "");
  return questions.find(({ name }) => name.toLowerCase() === word) ??
    questions.find(({ label }) => label.toLowerCase().replace(/\?$/, "") === word);
}

function unknownQuestion(questions: readonly ItemQuestion[], given: string): string {
  const names = questions.map(({ name }) => name);
  const nearest = closestWord(given.trim().toLowerCase(), names);
  const known = names.length === 0 ? "it asks nothing" : `it asks ${questions.map(describeQuestion).join("; ")}`;
  return `the item asks no ${given.trim().slice(0, 80).toWellFormed()}; ${
    nearest === null ? known : `did you mean ${nearest}?`
  }`;
}

/** Its name, its words, and what it takes. */
function describeQuestion({ name, label, kind, mandatory, reference, choices }: ItemQuestion): string {
  const takes = kind === "choice"
    ? `one of ${choices.slice(0, maxChoicesShown).map((choice) => choice.label).join(", ")}${
      choices.length > maxChoicesShown ? ", …" : ""
    }`
    : kind === "reference"
    ? reference ?? "a record"
    : kind.replace("_", " or ").replace("date or time", "date and time");
  return `${name} (${label}: ${takes}${mandatory ? ", mandatory" : ""})`;
}

type Value = Result<{ readonly stored: string; readonly shown: string }, ServicenowFailure>;

async function resolveAnswer(parts: DeskParts, question: ItemQuestion, value: string, person: Person): Promise<Value> {
  const { name, kind, choices, reference } = question;
  if (value === "") return success({ stored: "", shown: "" });
  switch (kind) {
    case "choice": {
      const word = value.trim().toLowerCase();
      const found = choices.find((choice) => choice.value.toLowerCase() === word) ??
        choices.find((choice) => choice.label.toLowerCase() === word) ??
        choices.find((choice) => choice.label.toLowerCase().replace(/^\d+\s*-\s*/, "") === word);
      return found === undefined
        ? invalidInput(`no "${value.slice(0, 80).toWellFormed()}" for ${describeQuestion(question)}`)
        : success({ stored: found.value, shown: found.label });
    }
    case "yes_no":
    case "checkbox": {
      if (!/^(true|yes|y|1|on|false|no|n|0|off)$/i.test(value)) return invalidInput(`${name} is yes or no`);
      const isTrue = /^(true|yes|y|1|on)$/i.test(value);
      return success({
        stored: kind === "yes_no" ? isTrue ? "Yes" : "No" : String(isTrue),
        shown: isTrue ? "yes" : "no",
      });
    }
    case "reference": {
      if (reference === null) return success({ stored: value, shown: value });
      const found = await resolveReference(parts, { table: reference, text: value, field: name }, person);
      return found.ok ? success({ stored: found.value.sysId, shown: found.value.name }) : found;
    }
    case "list":
      return reference === null
        ? success({ stored: value, shown: value })
        : await resolveList(parts, { table: reference, text: value, field: name }, person);
    case "date":
    case "date_time": {
      const dates = await datesOf(parts, value, person);
      if (dates === null) {
        return invalidInput(
          `${name}: write a date such as 2026-03-01${kind === "date" ? "" : ", or 2026-03-01 08:00 in UTC"}`,
        );
      }
      const stored = kind === "date" ? dates.firstDay : dates.from;
      return success({ stored, shown: kind === "date" ? stored : `${stored} UTC` });
    }
    default:
      return success({ stored: value, shown: value });
  }
}
