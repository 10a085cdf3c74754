/** One prompt for each of many files: a table of short answers, for a caller that need not read the files. */
import type { ContentBlock, ToolContext, ToolOutcome } from "../mcp/mod.ts";
import { isPattern, matchingFiles, workspaceOf, type WorkspaceSource } from "../files/mod.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { type Answered, type Asking, askQuestion, toQuestion } from "./ask.ts";
import type { AnswerContext, ToolFailure } from "./answer.ts";
import { fileLoader, withoutScope } from "./files.ts";

/** Files of one call, each with an answer of its own. */
const maxEachFiles = 100;
/** A directory is looked through for this long. */
const maxFindMs = 10_000;
/** Callers that take tasks get one for more files than this. */
const filesAtOnce = 3;
/** How often a file's own progress is told: the caller counts files. */
const eachPace = { flushMs: 10_000, flushCharacters: Infinity, waitingMs: 10_000 };

/** Failures after which the next file would fail as well; those of one file are in its row. */
const lastingCodes: ReadonlySet<string> = new Set([
  ...["cancelled", "client_time_limit", "server_stopping", "busy", "auth_required", "model_not_installed"],
  ...["ollama_unreachable", "host_not_found", "not_ollama", "forbidden_host"],
]);

interface Row {
  readonly file: string;
  readonly answer?: unknown;
  readonly problem?: string;
}

/** Answers for each file in turn. Stopped before its end, it gives what there is, and names the rest. */
export async function answerEach(
  asking: Asking,
  { files, workspace, maxTextBytes }: {
    readonly files: readonly string[];
    readonly workspace: WorkspaceSource;
    readonly maxTextBytes: number;
  },
  context: ToolContext,
): Promise<ToolOutcome> {
  const { local, clock, wantsJson, timeoutMs = Infinity, request: { model } } = asking;
  const named = await expand(files, workspace, context, clock);
  if (!named.ok) return { ok: false, code: named.error.code, message: named.error.message };
  const { names, isWhole } = named.value;
  if (names.length > filesAtOnce) await context.handOut();

  const startedAt = clock();
  const rows: Row[] = [];
  const spent = { files: 0, prompts: 0, answers: 0 };
  let stopped: ToolFailure | null = null;
  while (rows.length < names.length && stopped === null) {
    const file = names[rows.length] ?? "";
    const question = await toQuestion(asking, [file], fileLoader(workspace, context.principal, maxTextBytes));
    if (!question.ok) {
      rows.push({ file, problem: question.error.message });
      continue;
    }
    const leftMs = startedAt + local.totalMs - clock();
    const part = partOf(context, rows.length, names.length);
    const hurried = { ...asking, pace: eachPace, timeoutMs: Math.max(1, Math.min(timeoutMs, leftMs)) };
    const asked = await askQuestion(hurried, question.value, part);
    const { answer: { completion, pieces }, problem, failure } = asked;
    const reason = failure ?? problem;
    if (reason !== null && (lastingCodes.has(reason.code) || clock() - startedAt >= local.totalMs)) stopped = reason;
    if (failure !== null && stopped !== null) break;
    spent.files += asked.fileTokens;
    spent.prompts += completion.promptTokens ?? 0;
    spent.answers += completion.completionTokens ?? pieces;
    rows.push(toRow(file, asked));
    const message = `${rows.length} of ${names.length}: ${file}`;
    context.progress({ progress: rows.length, total: names.length, message });
  }
  if (stopped !== null && rows.length === 0) return { ok: false, code: stopped.code, message: stopped.message };

  const left = names.slice(rows.length);
  const answered = rows.filter(({ problem }) => problem === undefined).length;
  const notes = [
    `${answered} of ${names.length} files answered by ${model}; you did not have to read about ${spent.files} tokens of files.`,
    ...asking.notes,
    ...isWhole
      ? []
      : [`More files match: at most ${maxEachFiles} are taken, so name the others by a narrower pattern.`],
    ...stopped === null ? [] : [`${stopped.message} Left, for another call: ${left.join(", ") || "none"}`],
  ].join(" ");
  const content: readonly ContentBlock[] = [
    { type: "text", text: wantsJson ? jsonList(rows) : table(rows) },
    { type: "text", text: `[${notes}]` },
  ];
  const structuredContent = {
    ...{ text: notes, model, truncated: stopped !== null, answers: rows, file_tokens: spent.files },
    ...{ prompt_tokens: spent.prompts, completion_tokens: spent.answers, load_ms: 0 },
    duration_ms: Math.round(clock() - startedAt),
    ...(stopped === null ? {} : { problem: { code: stopped.code, message: stopped.message }, files_left: left }),
  };
  if (stopped === null || !context.signal.aborted) return { ok: true, content, structuredContent };
  const message = `${stopped.message} What was answered by then follows.`;
  return { ok: false, code: stopped.code, message, partial: { content, structuredContent } };
}

/** The files that names and patterns stand for, each once. */
async function expand(
  files: readonly string[],
  source: WorkspaceSource,
  context: ToolContext,
  clock: () => number,
): Promise<Result<{ readonly names: readonly string[]; readonly isWhole: boolean }, ToolFailure>> {
  if (!context.principal.scopes.has("files:read")) return failure(withoutScope);
  const workspace = workspaceOf(source, context.principal);
  const deadline = clock() + maxFindMs;
  const names = new Set<string>();
  let isWhole = true;
  for (const file of files) {
    if (!isPattern(file)) {
      names.add(file);
      continue;
    }
    const isOver = (): boolean => clock() > deadline || context.signal.aborted;
    const found = await matchingFiles(workspace, file, { limit: maxEachFiles, isOver });
    if (found === null) return failure(refused(`files has a pattern that cannot be used: ${file}`));
    if (found.names.length === 0) return failure(refused(`No file matches ${file}: file_list shows what there is.`));
    for (const name of found.names) names.add(name);
    isWhole &&= found.isWhole;
  }
  const taken = [...names].slice(0, maxEachFiles);
  return success({ names: taken, isWhole: isWhole && taken.length === names.size });
}

function refused(message: string): ToolFailure {
  return { code: "invalid_request", message };
}

/** The context for one file: its progress counts as a part of that file. */
function partOf(context: ToolContext, done: number, total: number): AnswerContext {
  const { principal, signal, answerNow } = context;
  return {
    principal,
    signal,
    answerNow,
    progress: ({ progress, total: ofFile = 1, message }) =>
      context.progress({
        progress: done + Math.min(0.99, progress / Math.max(1, ofFile)),
        total,
        ...(progress < 1 && message !== undefined ? { message } : {}),
      }),
  };
}

function toRow(file: string, { answer, parsed, problem, failure }: Answered): Row {
  if (failure !== null) return { file, problem: failure.message };
  return { file, answer: parsed ?? answer.text.trim(), ...(problem === null ? {} : { problem: problem.message }) };
}

/** A line for each file, its name and its answer with a tab between; breaks within an answer become blanks. */
function table(rows: readonly Row[]): string {
  const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();
  return rows.map(({ file, answer, problem }) => {
    const cells = [
      ...answer === undefined ? [] : [oneLine(String(answer))],
      ...problem === undefined ? [] : [`[${problem}]`],
    ];
    return `${file}\t${cells.join(" ")}`;
  }).join("\n");
}

function jsonList(rows: readonly Row[]): string {
  return `[\n${rows.map((row) => JSON.stringify(row)).join(",\n")}\n]`;
}
