/** Refusals of the local model's tools, each with the call that follows from its words. */
import type { Play } from "../fixtures/ollama.ts";

type Arguments = Record<string, unknown>;

/** What is asked, how the model then answers, what the refusal says, and what is asked then. */
export interface RefusedModelCall {
  readonly args: Arguments;
  readonly plays?: readonly Play[];
  readonly says: RegExp;
  readonly repeat: (found: RegExpExecArray, args: Arguments) => Arguments;
}

const same = (_found: RegExpExecArray, args: Arguments): Arguments => args;
const set = (more: Arguments) => (_found: RegExpExecArray, args: Arguments): Arguments => ({ ...args, ...more });
const without = (name: string) => (_found: RegExpExecArray, { [name]: _left, ...args }: Arguments): Arguments => args;
const prompt = "hi";
const otherModel = set({ model: "phi3" });

const arriving: readonly (readonly [Play, RegExp])[] = [
  ["reset_mid_stream", /broke off in the middle of its answer; try again/],
  ["cut_without_final", /broke off in the middle of its answer; try again/],
  ["invalid_json_line", /sent a line that is not its protocol; try again/],
  ["broken_gzip", /broke off in the middle of its answer; try again/],
  ["error_first", /failed: .*\. Try again, or use another model/],
  ["load_failure", /The model failed: .*\. Try again, or use a smaller model/],
];

export const refusedModelCalls: readonly RefusedModelCall[] = [
  // arguments
  {
    args: { prmpt: prompt },
    says: /has no (\w+); did you mean (\w+)\?/,
    repeat: ([, , name = ""]) => ({ [name]: prompt }),
  },
  {
    args: { prompt, model: "llama9" },
    says: /Use one of these models: (\w+)/,
    repeat: ([, model]) => ({ prompt, model }),
  },
  { args: {}, says: /^prompt parameter is required$/, repeat: set({ prompt }) },
  {
    args: { prompt, options: { tempreature: 1 } },
    says: /options has no (\w+); did you mean (\w+)\?/,
    repeat: ([, , name = ""]) => ({ prompt, options: { [name]: 1 } }),
  },
  {
    args: { prompt, options: { top_p: 2 } },
    says: /options\.(\w+) must be at most (\d)/,
    repeat: ([, name = "", most]) => ({ prompt, options: { [name]: Number(most) } }),
  },
  {
    args: { prompt, messages: [{ role: "root", content: "x" }] },
    says: /messages\[0\]\.role must be one of: (\w+)/,
    repeat: ([, role]) => ({ prompt, messages: [{ role, content: "x" }] }),
  },
  { args: { prompt: "x".repeat(300_000) }, says: /bytes and may have \d+; shorten it/, repeat: set({ prompt }) },
  {
    args: { prompt, json_schema: Array.from({ length: 200 }).reduce<Arguments>((inner) => ({ items: inner }), {}) },
    says: /json_schema cannot be used: it has more than \d+ levels/,
    repeat: set({ json_schema: {} }),
  },
  // files
  {
    args: { prompt, files: ["*.nots"] },
    says: /No file is named .*: set each to true/,
    repeat: set({ prompt, files: ["*.txt"], each: true }),
  },
  {
    args: { prompt, files: ["nots.txt"] },
    says: /did you mean ([^ ?]+)\?/,
    repeat: ([, file]) => ({ prompt, files: [file] }),
  },
  {
    args: {
      prompt,
      files: Array.from({ length: 16 }, () => "notes.txt"),
      messages: [{ role: "user", content: "x", files: ["notes.txt"] }],
    },
    says: /A call may name (\d+) files; leave some out/,
    repeat: ([, most]) => ({ prompt, files: Array.from({ length: Number(most) }, () => "notes.txt") }),
  },
  {
    args: { prompt, files: Array.from({ length: 9 }, () => "cat.png") },
    says: /A call may hold (\d+) images; leave some out/,
    repeat: ([, most]) => ({ prompt, files: Array.from({ length: Number(most) }, () => "cat.png") }),
  },
  {
    args: { prompt, files: ["large.txt"] },
    says: /name lines that fit, such as (\S+?)\.?$/,
    repeat: ([, file]) => ({ prompt, files: [file] }),
  },
  {
    args: { prompt, files: ["half.txt", "one_line.txt"] },
    says: /there is no room for \S+: leave some out, or name lines of them/,
    repeat: set({ files: ["one_line.txt"] }),
  },
  {
    args: { prompt, files: ["notes.txt:9-10"] },
    says: /has nothing at the lines that are asked for: it has (\d) lines/,
    repeat: ([, last]) => ({ prompt, files: [`notes.txt:1-${last}`] }),
  },
  // an answer for each of many files
  {
    args: { prompt, each: true },
    says: /each needs files: name them, or give a pattern/,
    repeat: set({ files: ["notes.*"] }),
  },
  {
    args: { prompt, each: true, files: ["*.eml"] },
    says: /No file matches \S+: (file_list) shows what there is/,
    repeat: set({ files: ["notes.*"] }),
  },
  {
    args: { prompt, files: ["notes.*"] },
    says: /No file is named notes\.\*: set each to true for an answer to each file/,
    repeat: set({ each: true }),
  },
  {
    args: { prompt, files: ["data:image/png;base64,iVBORw0KGgo="] },
    says: /files takes names of workspace files, not what they hold: put the file into the workspace first/,
    repeat: set({ files: ["cat.png"] }),
  },
  {
    args: { prompt, temprature: 1 },
    says: /did you mean (\w+)\?/,
    repeat: ([, name = ""]) => ({ prompt, [name]: 1 }),
  },
  {
    args: { prompt, options: { seed: 1 }, seed: 2 },
    says: /options\.seed and seed are one parameter with different values; give one of them/,
    repeat: without("options"),
  },
  {
    args: { prompt, files: Array.from({ length: 17 }, () => "notes.txt") },
    says: /names at most \d+ files; leave some out, or set each to true/,
    repeat: set({ each: true }),
  },
  // what a model cannot do
  {
    args: { prompt, options: { think: true } },
    plays: ["no_thinking"],
    says: /leave out options\.think/,
    repeat: without("options"),
  },
  { args: { prompt }, plays: ["no_writer"], says: /does not write text: use another model/, repeat: otherModel },
  {
    args: { prompt, files: ["cat.png"] },
    plays: ["no_vision"],
    says: /leave out image files/,
    repeat: without("files"),
  },
  { args: { prompt }, plays: ["cloud_off"], says: /switched off: use a local model/, repeat: otherModel },
  {
    args: { prompt },
    plays: ["signed_out"],
    says: /did not accept this server.*: use another model/,
    repeat: otherModel,
  },
  {
    args: { prompt },
    plays: ["context_exceeded"],
    says: /shorten it.*, or split it over several calls/,
    repeat: set({ prompt: "h" }),
  },
  {
    args: { prompt, json_schema: {} },
    plays: ["cut_without_final"],
    says: /What the model wrote follows/,
    repeat: same,
  },
  // faults on the way
  { // the client sends a request again whose kept connection was closed
    args: { prompt },
    plays: ["close_before_headers", "close_before_headers", "close_before_headers"],
    says: /closed the connection before it answered; see that it still runs, then try again/,
    repeat: same,
  },
  ...arriving.map(([fault, says]): RefusedModelCall => ({ args: { prompt }, plays: [fault], says, repeat: same })),
  {
    args: { prompt },
    plays: ["queue_full", "queue_full", "queue_full"],
    says: /is busy; try again in a little/,
    repeat: same,
  },
  {
    args: { prompt },
    plays: ["rate_limited", "rate_limited", "rate_limited"],
    says: /try again in a little while/,
    repeat: same,
  },
  {
    args: { prompt },
    plays: ["long_line"],
    says: /sent [\w. ]+; try again, or use another/,
    repeat: otherModel,
  },
  {
    args: { prompt },
    plays: ["endless_stream"],
    says: /exceeded \d+ bytes and was stopped; ask for less, or lower max_tokens/,
    repeat: set({ max_tokens: 1 }),
  },
  {
    args: { prompt, options: { timeout_ms: 2_000 } },
    plays: ["slow_drip"],
    says: /took longer than it may and was stopped; ask for less, or lower max_tokens/,
    repeat: () => ({ prompt, max_tokens: 1 }),
  },
  {
    args: { prompt, options: { timeout_ms: 300 } },
    plays: ["silent"],
    says: /may still be loading the model: try again, or use a smaller one/,
    repeat: () => ({ prompt }),
  },
];
