/** The version of this build, as deno.json has it. */
import manifest from "../../deno.json" with { type: "json" };

/** Semantic version, for `--version`, `serverInfo` and `/health`. */
export const version: string = manifest.version;

/** `deno task compile` writes the commit over this text; it stays as it is when the program runs from source. */
const stamp = "@PORTCULLIS_COMMIT@";

/**
 * The version with the commit of a built program. From source, with the commit that is checked out, where there is a
 * repository, and a digest of the sources: two states never call themselves alike. Needs no git, and no right but to read.
 */
export async function describeVersion(root: URL = new URL("../../", import.meta.url)): Promise<string> {
  if (/^[0-9a-f]{7,40}$/.test(stamp)) return `${version} (${stamp})`;
  const mayRead = Deno.permissions.querySync({ name: "read", path: root }).state === "granted";
  if (!mayRead || !import.meta.url.endsWith("/src/lib/version.ts")) return version; // a bundle without a stamp
  const files = ["main.ts", "deno.json", "deno.lock", ...filesBelow(root, "src")];
  const digests = await Promise.all(files.map(async (file) => sha256(await Deno.readFile(new URL(file, root)))));
  const digest = await sha256(new TextEncoder().encode(files.map((file, at) => `${digests[at]} ${file}\n`).join("")));
  const commit = checkedOutCommit(root);
  return `${version} (${commit === null ? "" : `${commit.slice(0, 12)}, `}sources ${digest.slice(0, 12)})`;
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

function filesBelow(root: URL, directory: string): string[] {
  return [...Deno.readDirSync(new URL(directory, root))].sort((a, b) => a.name < b.name ? -1 : 1).flatMap((entry) => {
    const path = `${directory}/${entry.name}`;
    return entry.isDirectory ? filesBelow(root, path) : [path];
  });
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
