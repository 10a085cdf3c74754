/**
 * Whether everything that a release takes from elsewhere is pinned: actions by commit, images by digest, downloads by
 * checksum. Prints what is not, with how to look it up, and fails.
 */
import process from "node:process";
import { root } from "../bundle.ts";
import { pinnedDownloads } from "./pinned_download.ts";

/** Actions in a workflow that are not named by a commit. */
export function unpinnedActions(workflow: string): string[] {
  return Array.from(workflow.matchAll(/\buses: *(\S+)/g), ([, action = ""]) => action)
    .filter((action) => !action.startsWith("./") && !/@[0-9a-f]{40}$/.test(action));
}

/** Images in a Dockerfile, a compose file or a workflow that are not named by a digest, variables by their defaults. */
export function unpinnedImages(text: string): string[] {
  return Array.from(
    text.matchAll(/^(?:ARG \w+_IMAGE=| +image: | +driver-opts: image=| +sbom: generator=)(\S+)/gm),
    ([, image = ""]) => image.replace(/^\$\{\w+:-(.*)\}$/, "$1"),
  )
    .filter((image) => image.includes("/") && !/@sha256:[0-9a-f]{64}$/.test(image));
}

const lookUp = {
  action: "git ls-remote https://github.com/OWNER/NAME TAG",
  image: "docker buildx imagetools inspect IMAGE, and write IMAGE@sha256:...",
  download: "compare the publisher's checksum with the file's, and write it into scripts/release/pins.json",
};

if (import.meta.main) {
  const read = (path: string): Promise<string> => Deno.readTextFile(`${root}${path}`);
  const workflows = await Promise.all(["ci.yml", "release.yml"].map((name) => read(`.github/workflows/${name}`)));
  const images = await Promise.all(
    ["Dockerfile", "compose.yaml", "compose.postgres.yaml", ".github/workflows/release.yml"].map(read),
  );
  const missing = [
    ...workflows.flatMap(unpinnedActions).map((action) => `action ${action}: ${lookUp.action}`),
    ...images.flatMap(unpinnedImages).map((image) => `image ${image}: ${lookUp.image}`),
    ...Object.entries(pinnedDownloads).filter(([, { sha256 }]) => sha256 === null)
      .map(([name]) => `download ${name}: ${lookUp.download}`),
  ];
  process.stdout.write(missing.map((line) => `not pinned: ${line}\n`).join(""));
  process.exit(missing.length === 0 ? 0 : 1);
}
