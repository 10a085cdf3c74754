/**
 * How much of a document its reader finds, beside pandoc, pdftotext and LibreOffice (Debian: pandoc, poppler-utils,
 * libreoffice-writer, -calc, -impress). `deno task bench documents` makes the originals from one text, whose words, order
 * and tables are known; `deno task bench documents DIRECTORY` compares with what pandoc finds in other people's files.
 */
import { DocumentBudget } from "../src/files/documents/document.ts";
import { readDocument } from "../src/files/documents/readers.ts";
import { print, row } from "./table.ts";

const sections = 40;
const budgetBytes = 512 * 1024 * 1024;
const peerMs = 60_000;

/** A text with what documents have, as Markdown. */
function makeSource(): string {
  return Array.from({ length: sections }, (_, at) =>
    [
      `# Section ${at} of the contract`,
      `The **buyer** pays item${at} within thirty days[^n${at}], see [terms](https://example.com/${at}).`,
      `1. first${at}\n2. second${at}\n    - inner${at} | with a bar`,
      `| Item | Price |\n|---|---|\n| pen${at} | ${at}.50 |\n| ink ${at} | 1${at} |`,
      `[^n${at}]: In writing, note${at}.`,
    ].join("\n\n")).join("\n\n");
}

const words = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
const pairs = (all: readonly string[]): string[] => all.slice(1).map((word, at) => `${all[at]} ${word}`);

/** The share of the one's members that the other has, each as often. */
function shareOf(wanted: readonly string[], given: readonly string[]): number {
  const left = new Map<string, number>();
  for (const one of given) left.set(one, (left.get(one) ?? 0) + 1);
  const found = wanted.filter((one) => {
    const count = left.get(one) ?? 0;
    left.set(one, count - 1);
    return count > 0;
  });
  return wanted.length === 0 ? 1 : found.length / wanted.length;
}

async function run(program: string, ...args: string[]): Promise<string | null> {
  const command = new Deno.Command(program, { args, stderr: "null", signal: AbortSignal.timeout(peerMs) });
  const { success, stdout } = await command.output();
  return success ? new TextDecoder().decode(stdout) : null;
}

async function timed<Made>(work: () => Promise<Made>): Promise<{ made: Made; ms: number }> {
  const start = performance.now();
  return { made: await work(), ms: performance.now() - start };
}

async function readOurs(path: string): Promise<string> {
  const { parts } = await readDocument(await Deno.readFile(path), path, new DocumentBudget(budgetBytes));
  return parts.map(({ text }) => text).join("\n");
}

/** What the usual program of a kind finds. */
function readPeer(path: string): Promise<string | null> {
  if (path.endsWith(".pdf")) return run("pdftotext", "-layout", path, "-");
  return run("pandoc", "--track-changes=all", "--wrap=none", "-t", "plain", path);
}

const squeeze = (text: string): string => text.replace(/ +/g, " ");
const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
const ratio = (ours: number, peers: number): string => (ours / peers).toFixed(2);

async function compareMade(place: string): Promise<void> {
  const source = makeSource();
  const plain = source.replace(/\[\^n\d+\](?!:)|^\|---.*$|https?:[^)\s]*/gm, " ");
  const [wanted, ordered] = [words(plain), pairs(words(plain))];
  const tableRows = [...source.matchAll(/^\| (?:pen|ink).*\|$/gm)].map(([line]) => line);
  await Deno.writeTextFile(`${place}/text.md`, source);
  for (const kind of ["docx", "odt", "epub", "html", "pptx", "ipynb"]) {
    await run("pandoc", "-s", "--metadata", "title=Made", `${place}/text.md`, "-o", `${place}/pandoc.${kind}`);
  }
  const office = ["--headless", `-env:UserInstallation=file://${place}/profile`, "--convert-to"];
  await run("soffice", ...office, "pdf", "--outdir", place, `${place}/pandoc.odt`);
  await Deno.copyFile(`${place}/pandoc.odt`, `${place}/office.odt`);
  await run("soffice", ...office, "docx", "--outdir", place, `${place}/office.odt`);
  print(row("document", "words", "in order", "table rows", "peer: words", "in order", "ms", "of peer's time"));
  for await (const { name } of Deno.readDir(place)) {
    if (!/\.(docx|odt|epub|html|pptx|ipynb|pdf)$/.test(name)) continue;
    const path = `${place}/${name}`;
    await readOurs(path); // the first one compiles
    const ours = await timed(() => readOurs(path));
    const peer = await timed(() => readPeer(path));
    const found = words(ours.made);
    const right = tableRows.filter((line) => squeeze(ours.made).includes(squeeze(line))).length / tableRows.length;
    print(row(
      name,
      ...[percent(shareOf(wanted, found)), percent(shareOf(ordered, pairs(found))), percent(right)],
      ...peer.made === null
        ? ["-", "-"]
        : [percent(shareOf(wanted, words(peer.made))), percent(shareOf(ordered, pairs(words(peer.made))))],
      ...[ours.ms, ratio(ours.ms, peer.ms)],
    ));
  }
}

async function compareOthers(place: string): Promise<void> {
  const sums = new Map<
    string,
    { files: number; refused: number; words: number; pairs: number; ours: number; peer: number }
  >();
  for await (const { name } of Deno.readDir(place)) {
    const [, kind = ""] = /\.(docx|odt|epub|pptx|ipynb|pdf)$/.exec(name) ?? [];
    if (kind === "") continue;
    const peer = await timed(() => readPeer(`${place}/${name}`).catch(() => null));
    if (peer.made === null || words(peer.made).length === 0) continue;
    const ours = await timed(() => readOurs(`${place}/${name}`).catch(() => null));
    const sum = sums.get(kind) ?? { files: 0, refused: 0, words: 0, pairs: 0, ours: 0, peer: 0 };
    sums.set(kind, sum);
    if (ours.made === null) sum.refused++;
    else {
      const [wanted, found] = [words(peer.made), words(ours.made)];
      sum.files++;
      sum.words += shareOf(wanted, found);
      sum.pairs += shareOf(pairs(wanted), pairs(found));
      sum.ours += ours.ms;
      sum.peer += peer.ms;
    }
  }
  print(row("kind", "files", "refused by us", "of peer's words", "in order", "of peer's time"));
  for (const [kind, { files, refused, words, pairs, ours, peer }] of sums) {
    print(row(kind, String(files), String(refused), percent(words / files), percent(pairs / files), ratio(ours, peer)));
  }
}

const [directory] = Deno.args;
if (directory !== undefined) await compareOthers(directory);
else {
  const place = await Deno.makeTempDir();
  try {
    await compareMade(place);
  } finally {
    await Deno.remove(place, { recursive: true });
  }
}
