/**
 * The memory that a worker which serves files shares with its screener (screener.ts), and with no other code. A place holds
 * a descriptor, and its state says who closes that: the worker while it is offered, the screener once it was taken.
 * Both change a state by compare and exchange, so each descriptor has one owner at any time.
 */

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
