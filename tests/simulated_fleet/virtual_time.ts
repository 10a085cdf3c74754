/** Time in which nothing happens but what was scheduled: events in their order, each run until everything waits. */
import type { Clock, Timers } from "../../src/lib/time.ts";
import { settle } from "./native_work.ts";

/** A process of the simulation: what it waits for comes later while it is paused, and never once it is killed. */
export class Host {
  readonly name: string;
  isKilled = false;
  isPaused = false;
  /** How much its wall clock is off, in milliseconds. */
  wallOffset: number;
  /** How fast its clocks run: 1 is right. */
  readonly rate: number;
  readonly #time: VirtualTime;
  readonly #startedAt: number;
  #held: (() => void)[] = [];

  constructor(time: VirtualTime, options: { name: string; wallOffset: number; rate: number }) {
    this.#time = time;
    this.#startedAt = time.now;
    this.name = options.name;
    this.wallOffset = options.wallOffset;
    this.rate = options.rate;
  }

  readonly clock: Clock = () => Math.floor(wallStart + this.#time.now * this.rate + this.wallOffset);

  readonly timers: Timers = {
    elapsed: () => (this.#time.now - this.#startedAt) * this.rate,
    after: (milliseconds, run) => this.#time.schedule(Math.max(milliseconds, 0) / this.rate, run, this),
    every: (milliseconds, run) => {
      let stop = (): void => {};
      const again = (): void => {
        stop = this.#time.schedule(milliseconds / this.rate, () => {
          again();
          run();
        }, this);
      };
      again();
      return () => stop();
    },
  };

  /** Runs it now, when it wakes up, or never. */
  receive(run: () => void): void {
    if (this.isKilled) return;
    if (this.isPaused) this.#held.push(run);
    else run();
  }

  resume(): void {
    this.isPaused = false;
    const held = this.#held;
    this.#held = [];
    for (const run of held) this.#time.schedule(0, run, this);
  }
}

/** What all wall clocks start from. */
export const wallStart = 1_800_000_000_000;

interface Event {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
  readonly host: Host | null;
  isCancelled: boolean;
}

/** The queue of events. */
export class VirtualTime {
  now = 0;
  /** How many events ran. */
  events = 0;
  #order = 0;
  readonly #heap: Event[] = [];

  /** Runs `run` so much later, at `host` if one is given. Gives the way to cancel it. */
  schedule(milliseconds: number, run: () => void, host: Host | null = null): () => void {
    const event: Event = { at: this.now + milliseconds, order: this.#order++, run, host, isCancelled: false };
    this.#push(event);
    return () => {
      event.isCancelled = true;
    };
  }

  sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => void this.schedule(milliseconds, resolve));
  }

  /** Runs events until `isDone`, or until nothing is left; `afterEach` follows each of them. */
  async run(isDone: () => boolean, afterEach: () => void): Promise<void> {
    await settle();
    while (!isDone()) {
      const event = this.#pop();
      if (event === undefined) return;
      if (event.isCancelled) continue;
      this.now = Math.max(this.now, event.at);
      this.events += 1;
      if (event.host === null) event.run();
      else event.host.receive(() => event.isCancelled || event.run());
      await settle();
      afterEach();
    }
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent] as Event)) break;
      heap[at] = heap[parent] as Event;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child += 1;
      if (!isBefore(heap[child] as Event, last)) break;
      heap[at] = heap[child] as Event;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
