/** Errors of the file system as refusals: the code decides, the text (which holds paths) is dropped. */
import type { WorkspaceRefusal } from "../workspace/port.ts";

/** The refusal for an error that Deno or node:fs threw; throws everything else on. */
export function toRefusal(error: unknown): WorkspaceRefusal {
  if (error instanceof Deno.errors.NotCapable) return { reason: "denied", because: "permission" };
  const code = errorCode(error);
  if (code === undefined) throw error;
  switch (code) {
    case "ENOENT":
      return { reason: "not_found" };
    case "EILSEQ":
      return { reason: "denied", because: "name_not_unicode" };
    case "ENOTDIR":
      return { reason: "not_a_directory" };
    case "EEXIST":
      return { reason: "already_exists" };
    case "ENOTEMPTY":
      return { reason: "not_empty" };
    case "EISDIR":
      return { reason: "is_directory" };
    case "ELOOP": // a link was met where there was a file or a directory a moment before
    case "ESTALE":
      return { reason: "denied", because: "changed_while_opening" };
    case "EACCES":
    case "EPERM":
      return { reason: "denied", because: "permission" };
    case "EROFS":
      return { reason: "denied", because: "read_only" };
    case "EXDEV":
      return { reason: "denied", because: "other_file_system" };
    case "ENXIO": // a socket, or a device without a driver
    case "ENODEV":
      return { reason: "not_a_file" };
    case "ENAMETOOLONG":
      return { reason: "bad_name", rule: "name_too_long" };
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return { reason: "no_space" };
    default:
      return { reason: "io", code };
  }
}

/** A file can have no second name: the file system has none, or the system none for files of others. */
export const unlinkable: ReadonlySet<string> = new Set([
  "EINVAL",
  "ENOSYS",
  "EOPNOTSUPP",
  "ENOTSUP",
  "EPERM",
  "EMLINK",
]);

/** The POSIX code of a file system error, or `undefined` for any other error. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "string" && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}
