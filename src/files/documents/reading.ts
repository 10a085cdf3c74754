/** Documents as text, for the tools: the thread that reads them is started by the first, and its text is kept a while. */
import type { Working } from "../../lib/turns.ts";
import { boundedMap } from "../../lib/bounded_map.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import { systemTimers } from "../../lib/time.ts";
import type { DocumentText } from "./document.ts";
import { documentModules } from "../../lib/program.ts";
import type { scalePicture } from "./pictures.ts";

/** `fromWidth` and `fromHeight` are the original's. */
type ShownPicture = NonNullable<ReturnType<typeof scalePicture>>;

/** The largest document. */
export const maxDocumentBytes: number = 64 * 1024 * 1024;
/** One document, once the thread is there; the thread is ended then, and the next one gets a new one. */
const maxReadingMs = 20_000;
/** The start of the thread, which loads its libraries: a second, and more on a busy machine. */
const maxStartingMs = 60_000;
const tooMuch = "it takes more time or memory to read than a document may";
const spoiled = "the thread that reads documents ended: try again";
const gone = "its caller has gone";
const noThread = "it is a document: these need a thread, which this server may not start";
const slowStart = "it is a document: the thread that reads these did not start in time, so try again in a moment";
/**
 * What the process may grow by meanwhile, and how often that is looked at: the last bound of what libraries allocate. A
 * picture of 49 megapixels takes 690 MB, a docx of 2,000 pages 210.
 */
const maxGrowthBytes = 768 * 1024 * 1024;
const watchMs = 100;
/** Documents that wait for the thread beside the one that it reads. */
const maxWaiting = 15;
/** Of one caller's. */
const maxWaitingOfOne = 3;
/** A document that took too much is refused at once for so long: it would keep the thread from others each time. */
const refusedMs = 600_000;
/** So many of them are known. */
const maxRefused = 1_024;
/** A thread that has nothing to read for so long is ended, which returns its memory. */
const idleMs = 60_000;
/** The texts of documents that were read lately, in characters. */
const maxKeptCharacters = 16 * 1024 * 1024;

/** What is given to the thread. */
interface Task {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly firstPage?: number;
  readonly isPicture: boolean;
}

/** A file's bytes, or why it cannot be read, in words. */
type Load = () => Promise<Result<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly sha256: string }, string>>;

/** A document, and the SHA-256 of its file. */
interface ReadDocument {
  readonly document: DocumentText;
  readonly sha256: string;
}

/** `null` where it may not: on Deno Deploy, which has no workers. */
function startHolder({ holder, directory }: ReturnType<typeof documentModules>): Worker | null {
  try {
    return new Worker(holder, { type: "module", name: "documents", deno: { permissions: { read: [directory] } } });
  } catch {
    return null;
  }
}

/** Whose piece of work it is. Once the signal of `work` aborts, it takes no place any more. */
export interface Share {
  readonly caller: string;
  readonly work?: Working | undefined;
}

/** Reads documents. */
export type Documents = ReturnType<typeof createDocuments>;

/** Starts nothing: the thread comes with the first document. `modules`: where its worker lies. */
export function createDocuments(
  { modules = documentModules, readingMs = maxReadingMs, startingMs = maxStartingMs } = {},
) {
  const kept = boundedMap<string, ReadDocument>({
    maxWeight: maxKeptCharacters,
    weigh: ({ document: { parts } }) =>
      parts.reduce((sum, { name, text }) => sum + name.length + text.length + 64, 1_024),
  });
  const refused = boundedMap<string, number>(maxRefused);
  const waiting = new Map<string, (() => void)[]>(); // by caller
  let isBusy = false;
  let holder: Worker | null = null;
  let stopIdle: (() => void) | undefined;

  const end = (): void => {
    stopIdle?.();
    holder?.terminate();
    holder = null;
  };

  /** One document by the thread; ends the thread where it gives no answer in time, or cannot give another. */
  const readInThread = <Made>(task: Task): Promise<Result<Made, string>> =>
    new Promise((resolve) => {
      stopIdle?.();
      const isNew = holder === null;
      const worker = holder ??= startHolder(modules());
      if (worker === null) return resolve(failure(noThread));
      let isStarted = !isNew;
      const finish = (outcome: Result<Made, string>, isOver: boolean): void => {
        stopTimer();
        stopWatch();
        if (isOver) end();
        else stopIdle = systemTimers.after(idleMs, end);
        resolve(outcome);
      };
      const giveUp = () => finish(failure(tooMuch), true);
      const die = () => finish(failure(isNew ? tooMuch : spoiled), true); // perhaps by what an earlier document left
      let stopTimer = systemTimers.after(startingMs, () => finish(failure(slowStart), true));
      const mostBytes = Deno.memoryUsage().rss + maxGrowthBytes;
      const stopWatch = systemTimers.every(watchMs, () => {
        if (Deno.memoryUsage().rss > mostBytes) giveUp();
      });
      const send = (): void => {
        stopTimer();
        stopTimer = systemTimers.after(readingMs, giveUp);
        const { buffer } = task.bytes;
        worker.postMessage({ ...task, bytes: buffer }, [buffer]); // Deno copies views of it byte by byte
      };
      worker.onmessage = ({ data }) => {
        if (data === "ready") {
          isStarted = true;
          return send();
        }
        if (data.isOver === true) return die();
        finish(data.document === undefined ? failure(data.refused) : success(data.document), false);
      };
      worker.onerror = (event) => {
        event.preventDefault();
        if (isStarted) die();
        else finish(failure(noThread), true);
      };
      if (!isNew) send();
    });

  /** One piece of work after the other, of each caller that waits in turn: no caller waits for all of another's. */
  const inShare = async <Made>({ caller, work }: Share, read: () => Promise<Result<Made, string>>) => {
    const own = waiting.getOrInsertComputed(caller, () => []);
    const all = waiting.values().reduce((sum, each) => sum + each.length, 0);
    if (own.length >= maxWaitingOfOne || all >= maxWaiting) {
      return failure("it waits behind other documents: try again in a moment");
    }
    if (isBusy) await new Promise<void>((begin) => own.push(begin));
    isBusy = true;
    try {
      return work?.signal.aborted ? failure(gone) : await read();
    } finally {
      isBusy = false;
      for (const [next, [begin, ...others]] of waiting) {
        waiting.delete(next);
        if (begin === undefined) continue;
        if (others.length > 0) waiting.set(next, others);
        isBusy = true;
        begin();
        break;
      }
    }
  };

  return {
    /** Whether its text is known, and costs nothing. */
    isKept: (version: string): boolean => kept.has(version),
    /**
     * The document's text, of a PDF from `firstPage` on, which is kept under `version`: another one for each caller, path,
     * content and first page. It takes a place of `caller`'s in the queue, and the bytes that `load` gives.
     */
    async read(
      name: string,
      { version, firstPage = 1, load, ...share }: Share & {
        readonly version: string;
        readonly firstPage?: number;
        readonly load: Load;
      },
    ): Promise<Result<ReadDocument, string>> {
      const known = kept.get(version);
      if (known !== undefined) return success(known);
      if ((refused.get(version) ?? 0) > performance.now()) return failure(tooMuch);
      return await inShare<ReadDocument>(share, async () => {
        const again = kept.get(version);
        if (again !== undefined) return success(again);
        const attempt = async (): Promise<Result<ReadDocument, string>> => {
          const loaded = await load();
          if (!loaded.ok) return loaded;
          const { bytes, sha256 } = loaded.value;
          const read = await readInThread<DocumentText>({ name, bytes, firstPage, isPicture: false });
          return read.ok ? success({ document: read.value, sha256 }) : read;
        };
        const first = await attempt();
        const read = first.ok || first.error !== spoiled ? first : await attempt();
        if (read.ok) kept.set(version, read.value);
        else if (read.error === tooMuch) refused.set(version, performance.now() + refusedMs);
        return read;
      });
    },
    /** The picture as it is shown. Takes the bytes away. */
    scale: (name: string, share: Share, bytes: Uint8Array<ArrayBuffer>): Promise<Result<ShownPicture, string>> =>
      inShare(share, () => readInThread<ShownPicture>({ name, bytes, isPicture: true })),
    close: end,
  };
}
