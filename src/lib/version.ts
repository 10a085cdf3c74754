/** The version of this build, as deno.json has it. */
import manifest from "../../deno.json" with { type: "json" };

/** Semantic version, for `--version`, `serverInfo` and `/health`. */
export const version: string = manifest.version;

/** scripts/bundle.ts writes the commit over this text, with a digest of what was changed since. */
const stamp = "@PORTCULLIS_COMMIT@";

const builtCommit = /^[0-9a-f]{7,40}(?:, changed: [0-9a-f]{12})?$/.exec(stamp)?.[0];

/**
 * The version, the form in which the program runs, and what it was made from, for example `0.1.0 (program, 5bd64f4582b1)`.
 * From source, a digest of the files follows: two states never call themselves alike.
 */
export async function describeVersion(root: URL = new URL("../../", import.meta.url)): Promise<string> {
  const isSource = import.meta.url.endsWith("/src/lib/version.ts");
  if (!isSource) return `${version} (${[formOfBuild(), builtCommit].filter(Boolean).join(", ")})`;
  const mayRead = Deno.permissions.querySync({ name: "read", path: root }).state === "granted";
  const commit = mayRead ? checkedOutCommit(root)?.slice(0, 12) : null;
  const files = mayRead ? `files ${await digestOfSources(root)}` : null;
  return `${version} (${["from source", commit, files].filter(Boolean).join(", ")})`;
}

function formOfBuild(): string {
  if (!Deno.build.standalone) return import.meta.url.includes("/node_modules/") ? "npm" : "bundle";
  return Deno.env.get("container") ? "container" : "program";
}

async function digestOfSources(root: URL): Promise<string> {
  const parts: Uint8Array[] = [];
  const read = (path: string): void => {
    const bytes = Deno.readFileSync(new URL(path, root));
    parts.push(new TextEncoder().encode(`${path} ${bytes.byteLength}\n`), bytes);
  };
  const walk = (directory: string): void => {
    const entries = [...Deno.readDirSync(new URL(directory, root))].sort((a, b) => a.name < b.name ? -1 : 1);
    for (const { name, isDirectory } of entries) {
      isDirectory ? walk(`${directory}${name}/`) : read(`${directory}${name}`);
    }
  };
  for (const path of ["main.ts", "deno.json", "deno.lock"]) read(path);
  walk("src/");
  const digest = await crypto.subtle.digest("SHA-256", await new Blob(parts as BlobPart[]).arrayBuffer());
  return new Uint8Array(digest).toHex().slice(0, 12);
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
