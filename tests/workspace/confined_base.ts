/** A workspace directory with something worth stealing beside it. */
import { createHash } from "node:crypto";

/** The directories of one hostile scene; `outside` and `sibling` are what must neither be read nor changed. */
export interface ConfinedBase {
  readonly base: string;
  readonly root: string;
  readonly outside: string;
  readonly secret: string;
  readonly sibling: string;
  /** A fingerprint of `outside`, `sibling` and the names in `base`, but for the databases of tests. */
  fingerprint(): string;
  remove(): void;
}

/** What the secret files start with. */
export const secretText = "TOPSECRET-7f3a9c";

/** Makes the scene in `base`, an empty directory of its own: a new temporary one unless told otherwise; its root is `name`. */
export function makeConfinedBase(
  base: string = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "portcullis-" })),
  name: string = "ws",
): ConfinedBase {
  const root = `${base}/${name}`;
  const outside = `${base}/outside`;
  const sibling = `${base}/${name}-evil`;
  for (const directory of [root, outside, sibling]) Deno.mkdirSync(directory, { recursive: true });
  const secret = `${outside}/secret.txt`;
  Deno.writeTextFileSync(secret, secretText.padEnd(4242, "s"));
  Deno.writeTextFileSync(`${sibling}/secret.txt`, secretText.padEnd(4242, "e"));
  return {
    base,
    root,
    outside,
    secret,
    sibling,
    fingerprint: () => [outside, sibling].map((directory) => fingerprintTree(directory)).join() + namesIn(base),
    remove: () => Deno.removeSync(base, { recursive: true }),
  };
}

function namesIn(directory: string): string {
  const names = Array.from(Deno.readDirSync(directory), ({ name }) => name);
  return names.filter((name) => !name.includes(".sqlite")).sort().join();
}

/** Every entry below `directory`, links not followed: path, kind, mode, size, times, content or target. */
export function fingerprintTree(directory: string): string {
  const lines: string[] = [];
  const visit = (path: string): void => {
    const info = Deno.lstatSync(path);
    const digest = createHash("sha256");
    if (info.isFile) digest.update(Deno.readFileSync(path));
    if (info.isSymlink) digest.update(Deno.readLinkSync(path));
    const names = info.isDirectory ? Array.from(Deno.readDirSync(path), ({ name }) => name).sort() : [];
    lines.push([path, info.mode, info.isDirectory ? names.join() : info.size, digest.digest("hex")].join("|"));
    for (const name of names) visit(`${path}/${name}`);
  };
  visit(directory);
  return lines.join("\n");
}
