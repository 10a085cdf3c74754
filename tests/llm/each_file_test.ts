/** `each: true`: one prompt for each of many files, and what comes back when it cannot end. */
import assert from "node:assert/strict";
import { llmGenerateTool } from "../../src/llm/llm_tools.ts";
import type { ToolContext } from "../../src/mcp/tool.ts";
import type { Workspace, WorkspaceRefusal } from "../../src/files/workspace/port.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { callTool, codeOf, messageOf, structured, testContext, testModel } from "../fixtures/ollama_calls.ts";
import type { StandInModel } from "../fixtures/ollama_models.ts";
import { withWorkspace } from "../tools/with_workspace.ts";

const reader = () => testContext({ scopes: ["llm:generate", "files:read"] });
const classify = (prompt: string): string => /invoice/i.test(prompt) ? "billing" : "other";

interface Row {
  readonly file: string;
  readonly answer?: unknown;
  readonly problem?: string;
}

async function scene(
  files: Readonly<Record<string, string>>,
  body: (it: {
    readonly ask: (input: Record<string, unknown>, context?: ToolContext) => ReturnType<typeof callTool>;
    readonly ollama: Awaited<ReturnType<typeof startOllama>>;
    readonly root: string;
    readonly workspace: Workspace;
  }) => Promise<void>,
  model: Partial<StandInModel> = {},
): Promise<void> {
  await withWorkspace(async ({ root, workspace }) => {
    for (const [name, text] of Object.entries(files)) {
      Deno.mkdirSync(`${root}/${name}`.replace(/\/[^/]*$/, ""), { recursive: true });
      Deno.writeTextFileSync(`${root}/${name}`, text);
    }
    await using ollama = await startOllama({ models: [{ name: "tinyllama", answer: classify, ...model }] });
    using local = testModel(ollama.url);
    const tool = llmGenerateTool({
      model: local.model,
      models: ["tinyllama"],
      workspace: () => workspace,
      clock: () => performance.now(),
    });
    await body({ ask: (input, context = reader()) => callTool(tool, input, context), ollama, root, workspace });
  });
}

const mails = Object.fromEntries(
  Array.from(
    { length: 40 },
    (_, at) => [`mails/${String(at + 1).padStart(2, "0")}.txt`, at % 4 === 0 ? "Your invoice is due.\n" : "Lunch?\n"],
  ),
);
const rowsOf = (outcome: Awaited<ReturnType<typeof callTool>>): readonly Row[] => {
  const content = outcome.ok ? outcome.structuredContent : outcome.partial?.structuredContent;
  return (content?.["answers"] ?? []) as readonly Row[];
};

Deno.test("each: true answers for every file of a pattern in one table, and says what it spared", () =>
  scene(mails, async ({ ask, ollama }) => {
    const context = reader();
    const outcome = await ask({ prompt: "Which kind of mail is it?", files: ["mails/*.txt"], each: true }, context);
    assert.ok(outcome.ok);
    const [table, note] = outcome.content.map((block) => block.type === "text" ? block.text : "");
    assert.equal(table?.split("\n").length, 40);
    assert.match(table ?? "", /^mails\/01\.txt\tbilling\nmails\/02\.txt\tother\n/);
    assert.match(
      note ?? "",
      /40 of 40 files answered by tinyllama; you did not have to read about \d+ tokens of files/,
    );
    assert.equal(ollama.requests.filter(({ path }) => path === "/api/generate").length, 40);
    const { answers, file_tokens, truncated } = structured(outcome);
    assert.deepEqual([(answers as Row[]).length, truncated], [40, false]);
    assert.ok(Number(file_tokens) > 40);
    const steps = context.updates.filter(({ message }) => /^\d+ of 40: /.test(message ?? ""));
    assert.deepEqual([steps.length, steps.at(-1)?.progress, steps.at(-1)?.total], [40, 40, 40]);
    const all = context.updates.map(({ progress }) => progress);
    assert.ok(all.every((each, at) => at === 0 || each >= (all[at - 1] ?? 0)), "progress does not go back");
  }));

Deno.test("with a schema the answers are one JSON list, and files that cannot be used have their problem", () =>
  scene({ "a.txt": "due 2026-12-01", "b.txt": "no date", "bin.dat": "\0\0" }, async ({ ask, root }) => {
    Deno.writeFileSync(`${root}/bin.dat`, Uint8Array.of(0, 1, 2, 0xff, 0, 0));
    const schema = { type: "object", properties: { date: { type: "string" } } };
    const outcome = await ask({
      prompt: "Extract",
      files: ["a.txt", "b.txt", "bin.dat", "gone.txt"],
      each: true,
      json_schema: schema,
    });
    assert.ok(outcome.ok);
    const [first] = outcome.content;
    const list = JSON.parse(first?.type === "text" ? first.text : "") as Row[];
    assert.deepEqual(list.slice(0, 2), [{ file: "a.txt", answer: { date: "2026-12-01" } }, {
      file: "b.txt",
      answer: { date: null },
    }]);
    assert.match(list[2]?.problem ?? "", /neither text nor/);
    assert.match(list[3]?.problem ?? "", /no such file/);
    assert.match(JSON.stringify(outcome), /2 of 4 files answered/);
  }, { answer: (prompt) => JSON.stringify({ date: /\d{4}-\d\d-\d\d/.exec(prompt)?.[0] ?? null }) }));

Deno.test("patterns know directories, depths and braces, leave out what is ignored, and name each file once", () =>
  scene({
    "a.md": "x",
    "docs/b.md": "x",
    "docs/deep/c.md": "x",
    "docs/d.txt": "x",
    "node_modules/e.md": "x",
    ".gitignore": "skipped.md\n",
    "skipped.md": "x",
  }, async ({ ask }) => {
    const named = async (...files: string[]) =>
      rowsOf(await ask({ prompt: "?", files, each: true })).map(({ file }) => file);
    assert.deepEqual(await named("docs/*.md"), ["docs/b.md"]);
    assert.deepEqual(await named("docs/**"), ["docs/b.md", "docs/d.txt", "docs/deep/c.md"]);
    assert.deepEqual(await named("*.md"), ["a.md", "docs/b.md", "docs/deep/c.md"]);
    assert.deepEqual(await named("docs/*.{md,txt}", "docs/b.md", "a.md"), ["docs/b.md", "docs/d.txt", "a.md"]);
    assert.match(
      messageOf(await ask({ prompt: "?", files: ["*.eml"], each: true })),
      /No file matches \*\.eml: file_list shows/,
    );
    assert.equal(codeOf(await ask({ prompt: "?", files: ["../*"], each: true })), "invalid_request");
    assert.match(messageOf(await ask({ prompt: "?", each: true })), /each needs files/);
  }));

Deno.test("at most 100 files are answered, and the rest is said", () =>
  scene(
    Object.fromEntries(Array.from({ length: 130 }, (_, at) => [`f${String(at).padStart(3, "0")}.txt`, "x"])),
    async ({ ask }) => {
      const outcome = await ask({ prompt: "?", files: ["*.txt"], each: true });
      assert.equal(rowsOf(outcome).length, 100);
      assert.match(JSON.stringify(outcome), /More files may match: at most 100 that can be read are taken/);
    },
  ));

Deno.test("a call that is stopped keeps the answers so far, and names the files that are left", () =>
  scene(mails, async ({ ask, ollama }) => {
    const stop = new AbortController();
    const cancelled: ToolContext = {
      ...testContext({ signal: stop.signal, scopes: ["llm:generate", "files:read"] }),
      progress: ({ progress }) => progress === 5 && stop.abort(),
    };
    const outcome = await ask({ prompt: "?", files: ["mails/*"], each: true }, cancelled);
    assert.equal(codeOf(outcome), "cancelled");
    assert.equal(rowsOf(outcome).length, 5);
    const hurry = new AbortController();
    const hurried: ToolContext = {
      ...reader(),
      answerNow: hurry.signal,
      progress: ({ progress }) => progress === 7 && hurry.abort(new DOMException("late", "TimeoutError")),
    };
    const partial = await ask({ prompt: "?", files: ["mails/*"], each: true }, hurried);
    assert.ok(partial.ok);
    assert.equal(rowsOf(partial).length, 7);
    assert.deepEqual((structured(partial)["files_left"] as string[]).length, 33);
    assert.match(JSON.stringify(partial.content), /Left, for another call: mails\/08\.txt, /);
    ollama.play("normal", "normal", "signed_out");
    const refused = await ask({ prompt: "?", files: ["mails/*"], each: true });
    assert.ok(refused.ok, "what was answered before the engine refused is kept");
    assert.equal(rowsOf(refused).length, 2);
    const left = structured(refused)["files_left"] as string[];
    assert.equal(rowsOf(await ask({ prompt: "?", files: left, each: true })).length, 38, "the rest, named in one call");
  }));

Deno.test("many files are handed out as a task, and each needs the scope for files", () =>
  scene(mails, async ({ ask }) => {
    let tasks = 0;
    const context: ToolContext = { ...reader(), handOut: () => Promise.resolve(void tasks++) };
    await ask({ prompt: "?", files: ["mails/01.txt"], each: true }, context);
    assert.equal(tasks, 0);
    await ask({ prompt: "?", files: ["mails/*"], each: true }, context);
    assert.equal(tasks, 1);
    assert.equal(
      codeOf(await ask({ prompt: "?", files: ["mails/*"], each: true }, testContext())),
      "insufficient_scope",
    );
  }));

Deno.test("one file that fails hides no other, whatever it fails with", () =>
  scene(Object.fromEntries(["a", "b", "c", "d"].map((name) => [`${name}.txt`, "x"])), async ({ ask, ollama }) => {
    ollama.play("normal", "context_exceeded", "error_first", "normal");
    const rows = rowsOf(await ask({ prompt: "?", files: ["*.txt"], each: true }));
    assert.deepEqual(rows.map(({ problem }) => problem === undefined), [true, false, false, true]);
    assert.match(rows[1]?.problem ?? "", /shorten it/);
  }));

Deno.test("a walk that the disk breaks off does not pass for whole: the answer says that more may match", () =>
  scene({ "a.txt": "x", "b/c.txt": "x", "d.txt": "x" }, async ({ ollama, workspace }) => {
    const breaking = (error: WorkspaceRefusal): Workspace => ({
      ...workspace,
      list: (path, options) =>
        path.text === "b" ? Promise.resolve({ ok: false, error }) : workspace.list(path, options),
    });
    const broken = breaking({ reason: "io", code: "EIO" });
    const away = breaking({ reason: "away" });
    using local = testModel(ollama.url);
    const clock = () => performance.now();
    for (const [own, answers] of [[workspace, 3], [broken, 1], [away, 2]] as const) {
      const tool = llmGenerateTool({ model: local.model, models: ["tinyllama"], workspace: () => own, clock });
      const outcome = await callTool(tool, { prompt: "?", files: ["**/*.txt"], each: true }, reader());
      assert.equal(rowsOf(outcome).length, answers);
      assert.equal(/More files may match/.test(JSON.stringify(outcome)), answers < 3);
    }
  }));
