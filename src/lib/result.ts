/** An expected outcome: a value, or a refusal with a tagged reason. Exceptions are for bugs and lost infrastructure. */
export type Result<T, E> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: E };

export function success<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

/** Wraps a refusal as a failed {@link Result}. */
export function failure<E>(error: E): { readonly ok: false; readonly error: E } {
  return { ok: false, error };
}
