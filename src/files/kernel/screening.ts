/** The worker's side of its screener (screener.ts): hands open files over, and learns which hold nothing. */
import type { BeginScreening, Descriptor, Screening } from "./descriptor.ts";

// * The memory that a worker which serves files shares with its screener (screener.ts), and with no other code. A place holds
// a descriptor, and its state says who closes that: the worker while it is offered, the screener once it was taken.
// Both change a state by compare and exchange, so each descriptor has one owner at any time.

/** Words of 32 bits: what the screener is, a count that it is woken by, whether it sleeps, the round of the screens. */
export const memoryLayout = Object.freeze(
  {
    stateAt: 0,
    wakeAt: 1,
    asleepAt: 2,
    roundAt: 3,
    /** How many characters the screens have as JSON. */
    screensLengthAt: 4,
    placesAt: 16,
    /** State, descriptor, size of the file. */
    placeWords: 3,
    /** Descriptors in flight. */
    places: 64,
    maxScreensLength: 32_768,
    maxFileBytes: 1_048_576,
  } as const,
);

/** What the screener is. Once it failed no other is started. */
export const screenerStates = Object.freeze({ none: 0, wanted: 1, running: 2, failed: 3 } as const);

/** What a place is. A screener that dies while it is closing may leave a descriptor open; none is closed twice. */
export const placeStates = Object.freeze(
  { free: 0, offered: 1, taken: 2, closing: 3, nothing: 4, look: 5 } as const,
);

/** The screens as JSON, 16 bits a character, begin after the places. */
export const screensAtBytes: number = 4 * (memoryLayout.placesAt + memoryLayout.places * memoryLayout.placeWords);

export const screenerMemoryBytes: number = screensAtBytes + 2 * memoryLayout.maxScreensLength;

/** Who starts screeners: the main thread, as the worker sees it. */
export interface ScreenerKeeper {
  /** Keeps the memory for screeners, and shows it to no other code. */
  keep(memory: SharedArrayBuffer): void;
  /** Asks for a screener: it comes later, or never. */
  want(): void;
}

/** How the numbers of descriptors are had, and given back. */
interface Numbers {
  /** The descriptor's number, which it then has no more. */
  readonly take: (descriptor: Descriptor) => number;
  readonly close: (number: number) => void;
}

/** What later code could replace. */
const { add, compareExchange, load, notify, store } = Atomics;
const { stringify } = JSON;
const { freeze } = Object;
const { stateAt, wakeAt, asleepAt, roundAt, screensLengthAt, maxScreensLength, placesAt, placeWords, places } =
  memoryLayout;
/** Waking a thread costs as much as opening a few files. */
const handedPerWake = 16;

export function createScreening({ take, close }: Numbers, keeper: ScreenerKeeper): BeginScreening {
  const memory = new SharedArrayBuffer(screenerMemoryBytes);
  keeper.keep(memory);
  const words = new Int32Array(memory, 0, screensAtBytes / 4);
  const characters = new Uint16Array(memory, screensAtBytes);
  let isBusy = false;
  let handed = 0;
  let told = 0;
  const placeOf = (file: number): number => placesAt + file % places * placeWords;
  const isRunning = (): boolean => load(words, stateAt) === screenerStates.running;
  const isHeld = (at: number): boolean => {
    const state = load(words, at);
    return state > placeStates.free && state < placeStates.nothing;
  };
  /** Gets back what the screener did not take, or will look at no more. */
  const takeBack = (at: number): boolean => {
    const { free, offered, taken } = placeStates;
    const isBack = compareExchange(words, at, offered, free) === offered ||
      (load(words, stateAt) === screenerStates.failed && compareExchange(words, at, taken, free) === taken);
    if (isBack) close(words[at + 1] ?? -1);
    return isBack;
  };
  const rouse = (): void => {
    add(words, wakeAt, 1);
    if (load(words, asleepAt) === 1) notify(words, wakeAt);
  };

  const hasPlace = (): boolean => handed - told < places && !isHeld(placeOf(handed));

  const end = (): void => {
    // the screener goes by the order of places: it waits at the first that comes back
    let first = handed;
    for (let file = handed - 1; file >= told; file--) if (takeBack(placeOf(file))) first = file;
    told = handed = first;
    isBusy = false;
  };

  const screening: Screening = freeze<Screening>({
    isFull: () => !hasPlace() || !isRunning(),
    hand(file, sizeBytes) {
      if (typeof sizeBytes !== "number") throw new TypeError("a size is a number"); // valueOf() could hand another over
      if (!hasPlace()) throw new RangeError("no place is free"); // its descriptor would have two owners
      const number = take(file);
      const at = placeOf(handed++);
      words[at + 1] = number;
      words[at + 2] = sizeBytes;
      store(words, at, placeStates.offered);
      if (handed % handedPerWake === 0) rouse();
    },
    next() {
      const at = placeOf(told);
      const state = load(words, at);
      if (state < placeStates.nothing && isRunning()) return "waiting";
      told++;
      if (state < placeStates.nothing) takeBack(at);
      else store(words, at, placeStates.free);
      return state === placeStates.nothing ? "nothing" : "look";
    },
    rouse,
    end,
    abandon() {
      const [at, round] = [placeOf(told), load(words, roundAt)];
      end();
      return () => load(words, roundAt) === round && isHeld(at); // the next search begins once nothing is held
    },
  });

  return (screens) => {
    if (isBusy) return null;
    if (load(words, stateAt) === screenerStates.none) {
      handed = told = 0; // where a new screener begins
      store(words, stateAt, screenerStates.wanted);
      keeper.want();
    }
    if (!isRunning()) return null;
    // a screener that still is at a file of an earlier search may be reading its screens
    for (let place = 0; place < places; place++) if (isHeld(placeOf(place))) return null;
    const json = stringify(screens.map(({ source, flags }) => [source, flags]));
    if (json.length > maxScreensLength || isBusy) return null;
    isBusy = true;
    for (let at = 0; at < json.length; at++) characters[at] = json.charCodeAt(at);
    words[screensLengthAt] = json.length;
    add(words, roundAt, 1);
    return screening;
  };
}
