/** The text on the console when the server starts. */
import type { Config } from "../config/config.ts";
import { version } from "../version.ts";

/** Directories, the set-up link while there is no owner, and how to connect a client. Ends with a blank line. */
export function welcomeText(options: {
  readonly config: Config;
  readonly serverUrl: string;
  readonly setUpLink: string | null;
  /** What the server does without, a sentence a part. */
  readonly missing: readonly string[];
}): string {
  const { config, serverUrl, setUpLink, missing } = options;
  const lines = [
    "",
    `Portcullis ${version}`,
    `  workspace   ${config.workspaceStore === "disk" ? config.workspaceDir : "in the database"}`,
    `  data        ${dataPlace(config)}`,
    `  models      ${config.llmModels.join(", ")}`,
    ...(config.servicenow === undefined ? [] : [`  ServiceNow  ${config.servicenow.instance}`]),
    ...(missing.length === 0 ? [] : [`  without     ${missing.join("; ")}`]),
    "",
  ];
  if (setUpLink !== null) {
    lines.push(
      "First, open this link within 10 minutes and choose the owner's passphrase (it works once):",
      `  ${setUpLink}`,
      "",
    );
  }
  lines.push(
    `${setUpLink === null ? "Connect" : "Then connect"} a client, for example Claude Code:`,
    `  claude mcp add --transport http portcullis ${serverUrl}/mcp`,
    "",
  );
  return lines.join("\n") + "\n";
}

/** Names no address, which could hold a password. */
function dataPlace({ database, dataDir }: Config): string {
  if (database === undefined) return dataDir;
  return database.kind === "postgres" ? "PostgreSQL" : "Deno KV";
}
