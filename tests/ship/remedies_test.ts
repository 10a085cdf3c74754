/** Each remedy that a refusal's text names is in a table of refusals that are repeated, or has its reason here. */
import assert from "node:assert/strict";
import { sourceFiles } from "../fixtures/source_files.ts";
import { refusedCalls } from "../mcp/refused_calls.ts";
import { refusedDeskCalls } from "../servicenow/desk/refused_desk_calls.ts";
import { refusedFileCalls } from "../tools/refused_file_calls.ts";
import { refusedModelCalls } from "../tools/refused_model_calls.ts";

/** By the directory below src whose texts they are of. */
const tables: Readonly<Record<string, readonly RegExp[]>> = {
  "console/approvals": [],
  files: refusedFileCalls.map(([, , says]) => says),
  mcp: refusedCalls.map(([, says]) => says),
  llm: refusedModelCalls.map(({ says }) => says),
  servicenow: refusedDeskCalls.map(([, , says]) => says),
};

/** Words by which a text tells its reader what to do. */
const remedy =
  /did you mean|leave .*\bout\b|leave some out|[Tt]ry again|\buse (?:only|one|another|a|it|action|servicenow_)|\bset [a-z]+[._][a-z]+|[;:,] give |\bname (?:one|lines|at least)|search for|\bsend (?:each|it|this|initialize)|shorten|lower max|raise max|ask for less|connect again|call the tool|begin a new|read it |by its number|[;:,.(] (?:[Gg]ive|set|search|[Ll]eave|write|copy|name|add|[Rr]ead|[Uu]se|take|[Cc]all|undo|append|delete|ask|[Ss]end|repeat|wait|[Mm]ake|[Mm]ove|create|put|replace|choose|upload|do not|[Tt]ell|[Tt]hen) |\bor (?:give|set|delete|ask|add|use|leave|append|take)\b|file_[a-z]+ (?:lists|creates|finds|names|reads|writes|shows|changes|and|with|takes|to) |[Cc]all (?:again|once|file_)/;

/**
 * Of the file tools every sentence with a second clause, an alternative or the name of a parameter: whatever words a way
 * to go is named in, it is one of these. Lists of names that are understood are none.
 */
function mayNameAWay(path: string, text: string): boolean {
  if (remedy.test(text)) return true;
  if (!/^src\/files\/(?:tools|text|workspace|disk|store|documents)\//.test(path)) return false;
  const plain = text.replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, "X").replaceAll(/\([^()]*\)/g, "");
  const isSentence = /[a-z]{2,}[,;:]? [a-z]/i.test(plain) && !/^[\w$*.() -]+$|\n|""/.test(plain);
  return isSentence && /[;:,] ?[^\s,;:]|\. [A-Z]|such as|[a-z]_[a-z]|^(?:give|set|write|pass) /.test(plain);
}

/** Remedies that no repeat of one caller can show, by their words. */
const others: readonly (readonly [words: RegExp, why: string])[] = [
  [
    /OLLAMA_|LLM_MODELS|SERVICENOW_|must name at least one table|the operator|server's operator|on the machine that runs/,
    "for the operator",
  ],
  [/to open|sign in|sign-in|Ask the user|connect again/, "the person signs in"],
  [/others wait for the model|was busy with other calls|calls run and|Too many large results|too many/i, "other calls"],
  [/server stops|did not answer within|stopped in the middle of its answer for/, "time"],
  [/in the time that this client waits|^Try again in|when the model is loaded/, "time"],
  [
    /The model (wrote nothing|only thought|called a tool)|ended the answer early|engine cut the rest/,
    "a success, with what the model did wrong",
  ],
  [
    /where the context of .* was full|raise max_tokens|may have \d+: ask for less/,
    "a success that was cut, or its size",
  ],
  [/the model's JSON|describe the format in the prompt/i, "the model's answer"],
  [/is not known whether the change was saved/, "the record says so"],
  [/dictionary ServiceNow keeps|does not show|shows this user no/, "rights of a person on the instance"],
  [/older entries are left out/, "a success"],
  [/several approvals wait/, "approvals of several people"],
  [/which cannot be read here: give a sys_id/, "tables that the operator has closed"],
  [/read the .* by its number/, "rights of a person on the instance"],
  [/means several values/, "choices of an instance"],
  [/give one value, or several separated/, "a field of a kind that the test instances lack"],
  [/use servicenow_approve/, "tables that the operator has opened"],
  [/could not be made to refer to it/, "a note beside a success"],
  [/^The instance|^The connection broke/, "the same call, once the instance answers"],
  [/read each item by its number/, "a success"],
  [/server that ran this task stopped/, "tests/mcp/task_faults_test.ts"],
  [/and did not say why: leave out|as too large/, "tests/llm/odd_answers_test.ts"],
  [/give filename(?:$|\. Nothing)/, "tests/servicenow/desk/attachment_truth_test.ts"],
  [/give order, asc or desc/, "tests/tools/refused_and_repeated_test.ts"],
  [
    /link is for one whole file|file_write changes them|leave embed out to read text in parts/,
    "tests/end_to_end/way_on_test.ts",
  ],
  [/file_search finds lines in it/, "tests/tools/file_read_parts_test.ts"],
  [/cannot be moved into another of the workspace's directories/, "tests/workspace/joined_workspace_test.ts"],
  [/lists it under another name; use that one/, "a file system that folds names"],
  [/did you mean \$\{others\.|^\}\. Give one's \$|: write word$/, "texts in texts: their cases are in the tables"],
  [
    /name a directory in it|there may be more|include_ignored|apart at|in RE2 |name one to undo|to redo it/,
    "a success",
  ],
  [/this answer is full; read it|: part\.isShort|came between the look and the write/, "a success"],
  [/a resource at most \S+: read it in parts/, "a resource, which clients read"],
  [/has no text to search/, "tables that the test instances lack"],
  [/changed during the access|could not be read whole/, "other programs"],
  [/did not start in time|behind other documents|that reads documents ended/, "time"],
  [/many calls ask for approval at this moment|other files are on their way/, "other calls"],
  [/call again with these same arguments|Use a tool, whose calls can wait/, "tests/console/held_calls_test.ts"],
  [/too many calls wait for approval/, "tests/console/held_calls_test.ts"],
  [/stopped this call\. Do not repeat it|Tell the owner/, "nothing to repeat"],
  [/or give if_version=\S+ to write/, "tests/servicenow/habits/writing_test.ts"],
  [/a rule decides about calls on/, "rules of the operator"],
  [/write \+NAME to add/, "tests/servicenow/habits/writing_test.ts"],
  [/another ServiceNow account during the call/, "the person links another account"],
  [/\{setting\}|redirects elsewhere|put a proxy in front|run doctor again/, "for the operator"],
  [/Read fewer fields, or a smaller attachment/, "megabytes from the instance"],
  [/name \(label\) type|\[a field of|The record follows as JSON/, "a success"],
  [/^(?:Creates a file|Names the content|SHA-256 of|New path, |Show what would|how long files)/, "a description"],
  [/recommendation with reasons|instead of guessing/, "a prompt's text"],
  // of the file tools: all with a second clause
  [/file_read needs encoding/, "tests/tools/legacy_encodings_test.ts"],
  [/:-50 gives its last lines|; link: true gives a URL|cannot show the picture/, "tests/end_to_end/way_on_test.ts"],
  [/it has no part|; cells are named/, "tests/documents/read_documents_test.ts"],
  [
    /save it as [A-Z]|save it as eml|save it as docx|save it as xlsx|rename it there/,
    "the person, outside of the tools",
  ],
  [/restart the server|^the workspace \S+ cannot be used|which this server may not start/, "for the operator"],
  [/^it is damaged|^it declares entities|too deep$|^it, or a part of its path/, "the file is as it is"],
  [/^it is a pipe, socket|a hard link\) is outside|or one in it$|^it is binary: no text/, "the file is as it is"],
  [/ pixels, and the limit is| bytes, and (?:the limit is|documents of up to)/, "the file is as it is"],
  [/has no "\S+", which new_text holds/, "the encoding is as it is"],
  [/^Failed to |: \S+ is a copy of it now|^not as it was expected|^if_version is empty;/, "texts in texts"],
  [
    /; \S+ is a copy of it now$|copied so far, to|undone so far|^these stay changed|; nothing was changed/,
    "what was done",
  ],
  [
    /version \S+$|^, leads to|: nothing is there, so|, if the directory is empty$|with more than \S+ entries in|^\S+ with \S+:|^, replacing/,
    "an effect, for a person",
  ],
  [/^(?:binary,|equal but for|compared and|old_text is there)|not equal/, "a success"],
  [/^its (?:last line|line ends)|^, (?:un|re)done by|can be undone with|^relative links/, "a success"],
  [/once until \S+|fits nothing|^files of that name|^skipped: |too long to search whole/, "a success"],
  [/shown (?:as|at) |; :text at|:source at|there is nothing at|^, \.\.\. .*\S+ in all$/, "a success"],
  [/^line \S+, characters|not (?:counted|compared), |^\S+ files of |^\S*, \S+ bytes\S*$/, "a success"],
  [/^but for |^found nowhere|^each of |it is searched again|^all and without hold/, "a success"],
  [
    /^, ignore_case|^write the expression|pass regex: true|^if \| is part of the value/,
    "a success, with the way to another",
  ],
  [
    /^Move, rename|^formulas refer|text box|^: p\S+- gives|^, of which|^without text|^Link: |^Field /,
    "a document's parts",
  ],
  [
    /^Comment|tracked change|^\[|left out; the source|Merged cells|macros|not fetched|which was not read|^Notes: /,
    "a document's parts",
  ],
  [/^\S+, \S+ with outputs/, "a document's parts"],
];

/** A text with samples in place of what is put into it. */
function samplesOf(text: string): readonly string[] {
  const plain = text.replaceAll(/\\(.)/g, "$1");
  return ["$&", "9", "word", "a.b"].map((each) => plain.replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, each));
}

function textsOf(source: string): readonly string[] {
  const bare = source.replaceAll(/\/\*[^]*?\*\//g, "").replaceAll(/(^|\s)\/\/.*$/gm, "").replaceAll(
    /\/\S.*\/[a-z]*[,;.)]/g,
    "",
  ).replaceAll(/\b(?:describe\(|description:)\s*(?:"(?:[^"\\\n]|\\.)*"[\s+]*)+/g, "");
  const texts: string[] = [];
  let end = 0;
  for (const found of bare.matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)) {
    const goesOn = /^ \+\s+$/.test(bare.slice(end, found.index)); // a text over several lines
    texts.push((goesOn ? texts.pop() ?? "" : "") + (found[1] ?? found[2] ?? ""));
    end = found.index + found[0].length;
  }
  return texts;
}

Deno.test("each remedy that a refusal names is repeated in a test, or says why not", () => {
  const missing: string[] = [];
  const unused = new Set(others);
  let seen = 0;
  for (const [part, says] of Object.entries(tables)) {
    for (const [path, source] of sourceFiles(`src/${part}`)) {
      for (const text of textsOf(source)) {
        if (!mayNameAWay(path, text) || text.length > 600) continue;
        seen += 1;
        const samples = samplesOf(text);
        const isShown = says.some((words) => samples.some((sample) => words.test(sample)));
        const reasons = others.filter(([words]) => samples.some((sample) => words.test(sample)));
        if (!isShown) { for (const reason of reasons) unused.delete(reason); }
        if (!isShown && reasons.length === 0) missing.push(`${path}: ${text.slice(0, 160)}`);
      }
    }
  }
  assert.ok(seen > 40, `${seen} texts were read`);
  assert.deepEqual(missing, []);
  assert.deepEqual(
    Array.from(unused, ([words]) => words.source),
    [],
    "reasons for what is repeated, or says nothing more",
  );
  for (const [, why] of others) if (why.startsWith("tests/")) assert.ok(Deno.statSync(why).isFile, why);
});
