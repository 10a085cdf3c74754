/** The version of this build, as deno.json has it. */
import manifest from "../../deno.json" with { type: "json" };

/** Semantic version, for `--version`, `serverInfo` and `/health`. */
export const version: string = manifest.version;

/** `deno task compile` writes the commit over this text; it stays as it is when the program runs from source. */
const stamp = "@PORTCULLIS_COMMIT@";

const builtCommit = /^[0-9a-f]{7,40}$/.exec(stamp)?.[0];

/**
 * The version with the commit: that of a built program, or the one that is checked out. Where git may run, changes of the
 * sources since are told by a digest, so that two states never call themselves alike.
 */
export async function describeVersion(root: URL = new URL("../../", import.meta.url)): Promise<string> {
  if (builtCommit !== undefined) return `${version} (${builtCommit})`;
  const mayRead = Deno.permissions.querySync({ name: "read", path: root }).state === "granted";
  if (!mayRead || !import.meta.url.endsWith("/src/lib/version.ts")) return version; // a bundle without a stamp
  const commit = checkedOutCommit(root);
  if (commit === null) return version;
  const changes = await changesSince(root);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", changes)).toHex();
  return `${version} (${commit.slice(0, 12)}${changes.length === 0 ? "" : `, changed: ${digest.slice(0, 12)}`})`;
}

/** Nothing, too, where git is not there or may not run. */
async function changesSince(root: URL): Promise<Uint8Array<ArrayBuffer>> {
  const none = new Uint8Array(0);
  if (Deno.permissions.querySync({ name: "run", command: "git" }).state !== "granted") return none;
  const args = ["diff", "--no-ext-diff", "--binary", "HEAD", "--", "main.ts", "deno.json", "deno.lock", "src"];
  return await new Deno.Command("git", { args, cwd: root, stderr: "null" }).output()
    .then(({ success, stdout }) => success ? stdout : none, () => none);
}

/** As git's files have it, those of another work tree included (gitrepository-layout). */
function checkedOutCommit(root: URL): string | null {
  const read = (path: string, base: URL): string => Deno.readTextFileSync(new URL(path, base)).trim();
  try {
    const isFile = Deno.statSync(new URL(".git", root)).isFile;
    const own = isFile ? new URL(`${read(".git", root).replace("gitdir: ", "")}/`, root) : new URL(".git/", root);
    const head = read("HEAD", own);
    if (!head.startsWith("ref: ")) return head;
    const ref = head.slice("ref: ".length);
    const common = isFile ? new URL(`${read("commondir", own)}/`, own) : own;
    const packed = (): string =>
      new RegExp(`^(\\w+) ${RegExp.escape(ref)}$`, "m").exec(read("packed-refs", common))?.[1] ?? "";
    try {
      return read(ref, common);
    } catch {
      return packed() || null;
    }
  } catch {
    return null;
  }
}
