/** A file whose read does not end, such as of a network mount: another would stop this thread. */

export interface HangingRead {
  note(path: string, goesOn: () => boolean): void;
  has(path: string): boolean;
}

/** Knows of one at a time: there is one thread that may hang. */
export function createHangingRead(): HangingRead {
  let hanging: string | null = null;
  let goesOn = (): boolean => false;
  return {
    note(path, stillGoesOn) {
      [hanging, goesOn] = [path, stillGoesOn];
    },
    has(path) {
      if (hanging === null) return false;
      if (!goesOn()) hanging = null;
      return path === hanging;
    },
  };
}
