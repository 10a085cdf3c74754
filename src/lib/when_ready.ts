/** Goes on at once with a value that is there: an async function costs each call its frame and a turn of the queue. */
export function whenReady<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
