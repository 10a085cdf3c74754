/** What openat2(2) is told for each purpose: nothing may lead out of the directory, and no link is followed. */
import type { Purpose } from "./descriptor.ts";
import { type Architecture, openFlags, RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_NO_XDEV } from "./numbers.ts";

const confined = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;

type OpenHow = BigUint64Array<ArrayBuffer>;

/** The structures `open_how` by purpose, and the one for a workspace's own directory, which may lie anywhere. */
export function createOpenHows(architecture: Architecture): {
  readonly hows: Readonly<Record<Purpose, OpenHow>> & { readonly __proto__: null };
  readonly rootHow: OpenHow;
} {
  const flags = openFlags[architecture];
  const openHow = (purpose: number, mode: number, resolve: number): OpenHow =>
    BigUint64Array.of(BigInt(purpose | flags.O_CLOEXEC), BigInt(mode), BigInt(resolve));
  const noFollow = flags.O_NOFOLLOW | flags.O_NOCTTY;
  return {
    hows: {
      __proto__: null, // a purpose that is not here is none
      path: openHow(flags.O_PATH | flags.O_NOFOLLOW, 0, confined),
      directory: openHow(flags.O_PATH | flags.O_DIRECTORY | flags.O_NOFOLLOW, 0, confined),
      // without waiting: should it be a pipe, there may be no writer
      read: openHow(flags.O_NONBLOCK | noFollow, 0, confined),
      list: openHow(flags.O_DIRECTORY | noFollow, 0, confined),
      append: openHow(flags.O_WRONLY | flags.O_CREAT | flags.O_APPEND | flags.O_NONBLOCK | noFollow, 0o600, confined),
      create: openHow(flags.O_WRONLY | flags.O_CREAT | flags.O_EXCL | noFollow, 0o666, confined),
      lock: openHow(flags.O_WRONLY | flags.O_NONBLOCK | noFollow, 0, confined),
      create_lock: openHow(flags.O_WRONLY | flags.O_CREAT | flags.O_NONBLOCK | noFollow, 0o600, confined),
    },
    rootHow: openHow(flags.O_PATH | flags.O_DIRECTORY, 0, 0),
  };
}
