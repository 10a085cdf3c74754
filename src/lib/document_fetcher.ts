/**
 * Shares out the fetching of documents, so that no asker and no hanging host can take all of it. Fetches over the limit
 * wait for a while; recent failures are not retried.
 */
import type { Clock } from "./time.ts";
import { boundedMap } from "./bounded_map.ts";
import { failure, type Result } from "./result.ts";
import { isClientDocumentUrl } from "./client_document_url.ts";
import {
  beginFetch,
  type DocumentProblem,
  type FetchOutcome,
  type Network,
  type PublicDocument,
} from "./public_document.ts";

/** Fetches a document by its https URL, on behalf of `asker`, which is any key: the network that a request came from. */
export type FetchDocument = (url: string, asker: string) => Promise<Result<PublicDocument, DocumentProblem>>;

/** As the draft on client ID metadata documents suggests. */
const fetchTimeoutMs = 5_000;
const maxConcurrentFetches = 8;

/** One asker, and one host, have at most this part of the fetches that run at once. */
const shareOfFetches = 1 / 4;
const maxWaiting = 64;
const maxWaitingOfAsker = 8;
/** A failure is the answer for so long. */
const failureMs = 10_000;
const maxFailures = 1_000;
/** Documents are cached: more fetches than this in a minute are a flood, or data that a broken tool sends away. */
const maxFetchesPerMinute = 240;

type Answer = Result<PublicDocument, DocumentProblem>;

interface Job {
  readonly url: URL;
  readonly asker: string;
  readonly answer: (answer: Answer) => void;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** Parallel fetches of one URL share one connection. */
export function createDocumentFetcher(
  network: Network,
  clock: Clock,
  { timeoutMs = fetchTimeoutMs, maxFetches = maxConcurrentFetches }: {
    readonly timeoutMs?: number;
    readonly maxFetches?: number;
  } = {},
): FetchDocument {
  const share = Math.max(1, Math.floor(maxFetches * shareOfFetches));
  const waiting = new Set<Job>();
  /** Whose answer each running fetch is, by URL. */
  const followers = new Map<string, Job[]>();
  const running = new Set<{ readonly host: string; readonly asker: string }>();
  const failures = createFailures(clock);
  const isWithinRate = createRate(clock);

  const finish = (job: Job, answer: Answer): void => {
    clearTimeout(job.timer);
    job.answer(answer);
  };
  const mayRun = ({ url, asker }: Job): boolean =>
    running.size < maxFetches &&
    [...running].filter((each) => each.asker === asker).length < share &&
    [...running].filter((each) => each.host === url.host).length < share;
  const run = (job: Job): void => {
    const { url, asker } = job;
    const place = { host: url.host, asker };
    running.add(place);
    followers.set(url.href, [job]);
    const { outcome, ended } = beginFetch(network, timeoutMs, url);
    void outcome.then((found) => {
      failures.note(url, found);
      const jobs = followers.get(url.href) ?? [];
      followers.delete(url.href);
      for (const each of jobs) finish(each, found.document);
    });
    void ended.then(() => {
      running.delete(place);
      startWaiting();
    });
  };
  /** Whether the job is on its way, or has its answer. */
  const start = (job: Job): boolean => {
    const known = failures.find(job.url);
    const shared = followers.get(job.url.href);
    if (known !== null) finish(job, failure(known));
    else if (shared !== undefined) shared.push(job);
    else if (!mayRun(job)) return false;
    else if (!isWithinRate()) finish(job, failure("too_many_fetches"));
    else run(job);
    return true;
  };
  const startWaiting = (): void => {
    for (const job of waiting) if (start(job)) waiting.delete(job);
  };
  return (text, asker) => {
    if (!isClientDocumentUrl(text)) return Promise.resolve(failure("forbidden_url"));
    return new Promise((answer) => {
      const timer = setTimeout(() => {
        if (waiting.delete(job)) answer(failure("too_many_fetches"));
      }, timeoutMs);
      const job: Job = { url: new URL(text), asker, answer, timer };
      if (start(job)) return;
      const ofAsker = [...waiting].filter((each) => each.asker === asker).length;
      if (waiting.size >= maxWaiting || ofAsker >= maxWaitingOfAsker) finish(job, failure("too_many_fetches"));
      else waiting.add(job);
    });
  };
}

interface Failures {
  find(url: URL): DocumentProblem | null;
  note(url: URL, outcome: FetchOutcome): void;
}

/** Failures by URL; by host only those that no path could have caused, so that no client can shut a host out. */
function createFailures(clock: Clock): Failures {
  const failures = boundedMap<string, { readonly problem: DocumentProblem; readonly until: number }>(maxFailures);
  return {
    find({ href, host }) {
      for (const key of [href, host]) {
        const failed = failures.get(key);
        if (failed !== undefined && clock() < failed.until) return failed.problem;
      }
      return null;
    },
    note({ href, host }, { document, isFailureOfHost }) {
      if (document.ok) return;
      failures.set(isFailureOfHost ? host : href, { problem: document.error, until: clock() + failureMs });
    },
  };
}

function createRate(clock: Clock): () => boolean {
  let minuteStart = -Infinity;
  let fetches = 0;
  return () => {
    const now = clock();
    if (now < minuteStart || now >= minuteStart + 60_000) {
      minuteStart = now;
      fetches = 0;
    }
    return ++fetches <= maxFetchesPerMinute;
  };
}
