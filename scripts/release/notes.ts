/** What a release changes in the repository itself: its version, the changelog's heading, the first lines of README. */
import { npmPackageName } from "../../src/lib/program_name.ts";

const versionPattern = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;
const unreleased = "## Unreleased";
const blockStart = "<!-- Written by `deno task release`: -->";
const blockEnd = "<!-- until here. -->";

/** Whether this can be a version (semver.org, without build metadata). */
export function isVersion(text: string): boolean {
  return versionPattern.test(text);
}

/** The changelog's section of a version, as the text of the release. Throws where there is none, or nothing in it. */
export function releaseNotes(changelog: string, version: string): string {
  const heading = new RegExp(`^## ${RegExp.escape(version)}\\b.*$`, "m").exec(changelog);
  if (heading === null) throw new Error(`CHANGELOG.md has no section for ${version}`);
  const rest = changelog.slice(heading.index + heading[0].length);
  const notes = rest.slice(0, /^## /m.exec(rest)?.index ?? rest.length).trim();
  if (notes === "") throw new Error(`CHANGELOG.md says nothing of ${version}`);
  return notes;
}

/** The changelog with what is unreleased under this version. Throws where nothing is unreleased. */
export function datedChangelog(changelog: string, version: string, date: string): string {
  if (new RegExp(`^## ${RegExp.escape(version)}\\b`, "m").test(changelog)) return changelog;
  if (!changelog.includes(`\n${unreleased}\n`)) throw new Error(`CHANGELOG.md has no "${unreleased}" to release`);
  return changelog.replace(`\n${unreleased}\n`, () => `\n## ${version} (${date})\n`);
}

/** The ways to install what is released, a line each, the shortest first. */
export function installLines(repository: string): readonly { readonly command: string; readonly note: string }[] {
  const latest = `https://github.com/${repository}/releases/latest/download`;
  return [
    { command: `npx -y ${npmPackageName}`, note: "with Node" },
    { command: `curl -fsSL ${latest}/install.sh | sh`, note: "Linux, macOS" },
    { command: `irm ${latest}/install.ps1 | iex`, note: "Windows, in PowerShell" },
  ];
}

/** README with the ways to install above the commands that start from source; written anew where they are there already. */
export function readmeWithInstall(readme: string, repository: string): string {
  const lines = installLines(repository).map(({ command, note }) => `${command}        # ${note}`).join("\n");
  const block = `${blockStart}\n\n\`\`\`sh\n${lines}\n\`\`\`\n\nOr from source:\n\n${blockEnd}\n\n`;
  const start = readme.indexOf(blockStart);
  if (start !== -1) {
    const end = readme.indexOf(blockEnd, start) + blockEnd.length;
    return `${readme.slice(0, start)}${block}${readme.slice(end).replace(/^\n+/, "")}`;
  }
  const heading = "\n## Start\n\n";
  const at = readme.indexOf(heading);
  if (at === -1) throw new Error("README.md has no section Start");
  return readme.slice(0, at + heading.length) + block + readme.slice(at + heading.length);
}
