/** One prompt for each of many files: a table of short answers, for a caller that need not read the files. */
import { contextWith, type ToolContext, type ToolOutcome } from "../mcp/mod.ts";
import { isPattern, matchingFiles, workspaceOf, type WorkspaceSource } from "../files/mod.ts";
import { failure, success } from "../lib/result.ts";
import { type Answered, type Asking, askQuestion, textBlock, toQuestion } from "./ask.ts";
import type { ToolFailure } from "./answer.ts";
import { fileLoader, invalid, withoutScope } from "./files.ts";

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
  files: readonly string[],
  { workspace, maxTextBytes }: { readonly workspace: WorkspaceSource; readonly maxTextBytes: number },
  context: ToolContext,
): Promise<ToolOutcome> {
  const { local, clock, wantsJson, timeoutMs = Infinity, request: { model } } = asking;
  const named = await expand(files, workspace, context, clock);
  if (!named.ok) return { ok: false, ...named.error };
  const { names, isWhole } = named.value;
  if (names.length > filesAtOnce) await context.handOut();

  const startedAt = clock();
  const rows: Row[] = [];
  const spent = { files: 0, prompts: 0, answers: 0 };
  const part = contextWith(context, {
    // its progress counts as a part of its file
    progress: ({ progress, total = 1 }) =>
      context.progress({ progress: rows.length + Math.min(0.99, progress / total), total: names.length }),
  });
  let stopped: ToolFailure | null = null;
  while (rows.length < names.length && stopped === null) {
    const file = names[rows.length] ?? "";
    const question = await toQuestion(asking, [file], fileLoader(workspace, context.principal, maxTextBytes));
    if (!question.ok) {
      rows.push({ file, problem: question.error.message });
      continue;
    }
    const leftMs = startedAt + local.totalMs - clock();
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
  const problem = stopped && { code: stopped.code, message: stopped.message };
  if (problem !== null && rows.length === 0) return { ok: false, ...problem };

  const left = names.slice(rows.length);
  const answered = rows.filter(({ problem }) => problem === undefined).length;
  const text = [
    `${answered} of ${names.length} files answered by ${model}; you did not have to read about ${spent.files} tokens of files.`,
    isWhole ? "" : `More files match: at most ${maxEachFiles} are taken, so name the others by a narrower pattern.`,
    problem && `${problem.message} Left, for another call: ${left.join(", ") || "none"}`,
  ].filter((note) => note).join(" ");
  const shown = wantsJson ? `[\n${rows.map((row) => JSON.stringify(row)).join(",\n")}\n]` : table(rows);
  const content = [textBlock(shown), textBlock(`[${text}]`)];
  const structuredContent = {
    ...{ text, model, truncated: problem !== null, answers: rows, file_tokens: spent.files },
    ...{ prompt_tokens: spent.prompts, completion_tokens: spent.answers, load_ms: 0 },
    duration_ms: Math.round(clock() - startedAt),
    ...(problem === null ? {} : { problem, files_left: left }),
  };
  if (problem === null || !context.signal.aborted) return { ok: true, content, structuredContent };
  const message = `${problem.message} What was answered by then follows.`;
  return { ok: false, code: problem.code, message, partial: { content, structuredContent } };
}

/** The files that names and patterns stand for, each once. */
async function expand(files: readonly string[], source: WorkspaceSource, context: ToolContext, clock: () => number) {
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
    if (found === null) return failure(invalid(`files has a pattern that cannot be used: ${file}`));
    if (found.names.length === 0) return failure(invalid(`No file matches ${file}: file_list shows what there is.`));
    for (const name of found.names) names.add(name);
    isWhole &&= found.isWhole;
  }
  const taken = [...names].slice(0, maxEachFiles);
  return success({ names: taken, isWhole: isWhole && taken.length === names.size });
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
