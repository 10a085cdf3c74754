/**
 * Three jobs of an agent with and without `llm_generate`, in tokens that pass through the agent's own model (o200k): what
 * it writes to call tools, and what they answer. docs/performance.md has the table.
 */
import assert from "node:assert/strict";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { llmGenerateTool } from "../../src/llm/llm_tools.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { callTool, testContext, testModel } from "../fixtures/ollama_calls.ts";
import { answerOf, withWorkspace } from "../tools/with_workspace.ts";

const subjects = [
  "Your invoice is due",
  "Lunch on Friday?",
  "Server down since 9:40",
  "Application as a gardener",
] as const;
const kinds = ["billing", "private", "incident", "application"] as const;

/** A mail of some 250 words, headers included. */
function mail(at: number): string {
  const subject = subjects[at % subjects.length] ?? "";
  const topics = ["delivery", "contract", "garden", "server room", "holiday", "insurance", "heating", "parking space"];
  const sentences = Array.from({ length: 14 }, (_, line) => {
    const topic = topics[(at * 3 + line) % topics.length];
    return `Regarding the ${topic}, I wanted to let you know that we talked about point ${
      line + 1
    } on the phone last week.`;
  });
  return `From: person${at}@example.com\nTo: office@example.com\nDate: 2026-11-${1 + at % 28} 09:${10 + at % 50}\n` +
    `Subject: ${subject} (${1000 + at})\n\nHello,\n\n${sentences.join("\n")}\n\nKind regards\nPerson ${at}\n`;
}

/** A letter of some 900 words with a date in it. */
const letter = (at: number): string =>
  `${Array.from({ length: 4 }, (_, part) => mail(at + part)).join("\n")}\nThis contract ends on 2027-0${
    1 + at % 9
  }-15.\n`;

interface Job {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly call: Readonly<Record<string, unknown>>;
  readonly answer: (prompt: string) => string;
}

const named = (directory: string, count: number, text: (at: number) => string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`${directory}/${String(at + 1).padStart(2, "0")}.txt`, text(at)]),
  );

const ownSources = [...Deno.readDirSync(new URL("../../src/llm", import.meta.url))].map(({ name }) => name).sort();

const jobs: readonly Job[] = [
  {
    name: "classify 40 mails",
    files: named("mails", 40, mail),
    call: {
      prompt: "Classify the mail: billing, private, incident or application. One word.",
      files: ["mails/*"],
      each: true,
      max_tokens: 8,
    },
    answer: (prompt) => kinds[subjects.findIndex((subject) => prompt.includes(subject))] ?? "other",
  },
  {
    name: "one line for each source file of `src/llm`",
    files: Object.fromEntries(ownSources.map((name) => [
      `src/${name}`,
      Deno.readTextFileSync(new URL(`../../src/llm/${name}`, import.meta.url)),
    ])),
    call: { prompt: "Say in one line what this file does.", files: ["src/*"], each: true, max_tokens: 60 },
    answer: (prompt) =>
      (/\*\*?\s*(?:\* )?([A-Z][^.]{20,120}[.:])/.exec(prompt)?.[1] ?? "Exports helpers.").replaceAll("\n *", ""),
  },
  {
    name: "dates of 20 letters as JSON",
    files: named("letters", 20, letter),
    call: {
      prompt: "When does the contract end?",
      files: ["letters/*"],
      each: true,
      json_schema: { type: "object", properties: { ends: { type: "string" } } },
    },
    answer: (prompt) => JSON.stringify({ ends: /ends on (\S+)\./.exec(prompt)?.[1] }),
  },
];

const filesAtOnce = 3; // so that each page of file_read is whole

Deno.test("an agent's jobs take a tenth of the cloud's tokens with llm_generate, and docs/performance.md says so", async () => {
  const page = Deno.readTextFileSync(new URL("../../docs/performance.md", import.meta.url));
  for (const { name, files, call, answer } of jobs) {
    await withWorkspace(async ({ root, workspace }) => {
      for (const [file, text] of Object.entries(files)) {
        Deno.mkdirSync(`${root}/${file}`.replace(/\/[^/]*$/, ""), { recursive: true });
        Deno.writeTextFileSync(`${root}/${file}`, text);
      }
      await using ollama = await startOllama({ models: [{ name: "tinyllama", answer, contextLength: 32_768 }] });
      using local = testModel(ollama.url);
      const generate = llmGenerateTool({
        model: local.model,
        models: undefined,
        workspace: () => workspace,
        clock: () => performance.now(),
      });
      const context = testContext({ scopes: ["llm:generate", "files:read"] });
      const outcome = await callTool(generate, call, context);
      assert.ok(outcome.ok);
      const blocks = outcome.content.map((block) => block.type === "text" ? block.text : "");
      assert.match(
        blocks.at(-1) ?? "",
        new RegExp(`${Object.keys(files).length} of ${Object.keys(files).length} files`),
      );
      const delegated = countTokens(JSON.stringify(call)) + countTokens(blocks.join("\n"));

      const names = Object.keys(files);
      let read = 0;
      for (let at = 0; at < names.length; at += filesAtOnce) {
        const [filename, ...others] = names.slice(at, at + filesAtOnce);
        const input = { filename, files: others };
        const { texts } = await answerOf(fileReadTool(() => workspace, null), input);
        read += countTokens(JSON.stringify(input)) + countTokens(texts.join("\n"));
      }
      const row = `| ${name} | ${read} | ${delegated} | ${Math.round(read / delegated)} |`;
      assert.ok(delegated * 10 <= read, row);
      const [, ...cells] = row.split("|").map((cell) => cell.trim());
      const told = page.split("\n").find((line) => line.replaceAll(/\s+/g, " ").startsWith(`| ${cells[0]} |`));
      assert.ok(told !== undefined, `docs/performance.md has no row: ${row}`);
    });
  }
});
