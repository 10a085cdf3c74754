/** `audit list|verify|head`: the stored audit, beside a running server or without one. */
import { counted } from "../lib/result.ts";
import { present } from "../lib/json.ts";
import { escapeUnprintable } from "../lib/log.ts";
import { parseDuration } from "../lib/settings.ts";
import type { AuditFilter, FoundLine } from "../audit/mod.ts";
import { administered, commandOf, type OpenInstallation, printable, printTable } from "./action.ts";
import { type CommandContext, type CommandWork, endWith, type ExitStatus } from "./command.ts";

/** Loaded when an action runs: see action.ts. */
const load = () => import("../audit/mod.ts");
type Operations = Awaited<ReturnType<typeof load>>;

const defaultLimit = "50";
const maxLimit = 1_000_000;
const pageLines = 500;
const filterFlags = ["user", "client", "tool", "path", "record", "outcome", "since", "until"] as const;

export const auditCommand: CommandWork = commandOf({
  usage: [
    "audit list [--user USER] [--client CLIENT] [--tool TOOL] [--path PATH] [--record RECORD] [--outcome OUTCOME]" +
    " [--since TIME] [--until TIME] [--limit N] [--json]",
    "audit verify [--head HEAD]",
    "audit head",
  ],
  remarks: [
    "TIME is a date such as 2026-11-22 or 2026-11-22T09:00Z, or how long ago: 45m, 12h, 7d.",
    "Lines come newest first; verify ends with status 1 when it finds a change.",
  ],
  flags: {
    user: { value: "USER", help: "the user who acted" },
    client: { value: "CLIENT", help: "the id of the client" },
    tool: { value: "TOOL", help: "the tool, or the method of another request" },
    path: { value: "PATH", help: "part of the file's path" },
    record: { value: "RECORD", help: "part of the record's table, number or id" },
    outcome: { value: "OUTCOME", help: "such as ok or tool_error; refused and failed: all of that kind" },
    since: { value: "TIME", help: "not before" },
    until: { value: "TIME", help: "not after" },
    limit: { value: "N", help: `lines, at most (default ${defaultLimit})` },
    head: { value: "HEAD", help: "what `portcullis audit head` printed earlier; several with commas between" },
  },
  switches: { json: "print JSON, one line each" },
  actions: {
    list: administered(load, list, [...filterFlags, "limit", "json"]),
    verify: administered(load, verify, ["head"]),
    head: administered(load, head),
  },
});

async function list({ searchAudit }: Operations, { storage, clock }: OpenInstallation, context: CommandContext) {
  const { flags, say, print } = context;
  const filter = filterOf(context, clock());
  const limit = /^\d{1,7}$/.test(flags["limit"] ?? defaultLimit) ? Number(flags["limit"] ?? defaultLimit) : Number.NaN;
  if (!(limit >= 1 && limit <= maxLimit)) {
    return endWith(say, `error: --limit must be a whole number from 1 to ${maxLimit}\n`, 2);
  }
  if (filter === null) return 2;
  const asJson = flags["json"] !== undefined;
  const rows: string[][] = [];
  let cursor: string | null | undefined;
  for (let left = limit; left > 0 && cursor !== null;) {
    const page = await searchAudit(storage, filter, { limit: Math.min(left, pageLines), cursor });
    ({ cursor } = page);
    left -= page.lines.length;
    if (!asJson) rows.push(...page.lines.map(toRow));
    else if (await print(page.lines.map(jsonLine).join("")) === false) return 1;
  }
  const columns = ["TIME", "USER", "CLIENT", "WHAT", "OUTCOME", "MS", "TOUCHED"];
  if (!asJson) await printTable({ columns, rows, whenEmpty: "there is no such line" }, context);
  return 0;
}

async function verify(
  { verifyAudit, whyNoLine, parseHead }: Operations,
  installation: OpenInstallation,
  { flags: { head: text = "" }, print, say }: CommandContext,
): Promise<ExitStatus> {
  const heads = text.split(",").filter((part) => part !== "").map(parseHead);
  const kept = heads.filter((each) => each !== null);
  if (kept.length < heads.length) {
    return endWith(
      say,
      "error: --head must be what `portcullis audit head` printed, such as 1:42:HASH; several with commas between\n",
      2,
    );
  }
  const { chains, lines, problems: found, notes } = await verifyAudit(installation, kept);
  const none = chains === 0 ? await whyNoLine(installation.storage) : null;
  const problems = none === null ? found : [none, ...found];
  for (const note of notes) say(`note: ${note}\n`);
  if (problems.length > 0) {
    await print(problems.map((problem) => `${problem}\n`).join(""));
    return endWith(say, "error: the stored audit was changed\n");
  }
  await print(`${counted(lines, "line")} in ${counted(chains, "chain")}: none was removed, changed or moved\n`);
  if (kept.length === 0) {
    say("hint: only a head that you kept (`portcullis audit head`) shows whether the end was cut off\n");
  }
  return 0;
}

async function head(
  { auditHeads, headText }: Operations,
  { storage }: OpenInstallation,
  { print, say }: CommandContext,
): Promise<ExitStatus> {
  const heads = await auditHeads(storage);
  if (heads.length === 0) say("nothing is stored yet\n");
  await print(heads.map((each) => `${headText(each)}\n`).join(""));
  return 0;
}

/** `null` for a mistake, which it has said. */
function filterOf({ flags, say }: CommandContext, now: number): AuditFilter | null {
  const { user: person, client, tool, path, record, outcome } = flags;
  const times: Partial<Record<"since" | "until", number>> = {};
  for (const name of ["since", "until"] as const) {
    const text = flags[name];
    if (text === undefined) continue;
    const ago = parseDuration(text);
    const time = ago.ok ? now - ago.value : /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
    if (Number.isNaN(time)) {
      say(`error: --${name} must be a date such as 2026-11-22 or 2026-11-22T09:00Z, or how long ago, such as 12h\n`);
      return null;
    }
    times[name] = time;
  }
  return { person, client, tool, outcome, ...times, target: [path, record].filter((part) => part !== undefined) };
}

function toRow({ time, event, person, client, tool, outcome, code, durationMs, target, address }: FoundLine): string[] {
  const result = [outcome, outcome === code ? null : code].filter((part) => part !== null).join(" ");
  return [
    new Date(time).toISOString(),
    person ?? "-",
    client ?? "-",
    tool ?? event,
    result,
    durationMs === null ? "" : String(Math.round(durationMs * 10) / 10),
    target ?? address ?? "",
  ].map(printable);
}

function jsonLine({ time, ...line }: FoundLine): string {
  return `${escapeUnprintable(JSON.stringify({ time: new Date(time).toISOString(), ...present(line) }))}\n`;
}
