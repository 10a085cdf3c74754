/**
 * Writes docs/configuration.md from the table of settings. What a setting accepts is what its parser says when it
 * refuses, so the page and the program cannot differ.
 */
import type { Setting } from "../src/config/setting.ts";
import { settingSections } from "../src/config/settings.ts";

const path = new URL("../docs/configuration.md", import.meta.url);

const introduction = `# Configuration

<!-- Made by \`deno task reference\` from src/config/settings/; a test compares. -->

Every setting is an environment variable; some are flags too. A flag outranks the variable, and an empty variable counts
as absent. A secret can come from a file instead: \`DCR_AUTH_TOKEN_FILE=/run/secrets/dcr\` reads it from there. All
problems are reported together at the start, with exit status 2, and no secret is ever shown. \`portcullis doctor\` tries
what can be tried.

Rules between settings: \`SERVER_URL\` must be set unless the server listens on this machine alone. With a public
\`SERVER_URL\`, registration of clients needs \`DCR_AUTH_TOKEN\`, or \`REGISTRATION=off\`. With the workspace on the disk,
\`DATA_DIR\`, the file of \`deno-kv:PATH\`, the certificates and keys that settings name, and the files of secrets cannot
lie in it, where agents could read and replace them. Links, other spellings and second mounts on the way count: each
directory is compared by device and inode. On Deno Deploy, \`MASTER_KEY\` and \`SERVER_URL\` must be set.
`;

/** The whole page, as `deno fmt` leaves it. */
export async function configurationReference(): Promise<string> {
  const blocks = settingSections.flatMap(([heading, settings]) => [`## ${heading}`, table(Object.values(settings))]);
  return await format([introduction, ...blocks].join("\n\n"));
}

function table(rows: readonly Setting<unknown>[]): string {
  return ["| Variable | Flag | Default | Meaning | Accepts |", "| --- | --- | --- | --- | --- |", ...rows.map(row)]
    .join(
      "\n",
    );
}

function row(setting: Setting<unknown>): string {
  const { env, flag, help, secret } = setting;
  const meaning = secret ? `${help} (secret; or \`${env}_FILE\`)` : help;
  const cells = [
    code(env),
    flag === undefined ? "" : code(`--${flag}`),
    defaults(setting),
    meaning,
    accepted(setting),
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function defaults({ default: usual, defaultOnDeploy }: Setting<unknown>): string {
  return [
    ...usual === undefined ? [] : [code(usual)],
    ...defaultOnDeploy === undefined ? [] : [`on Deno Deploy ${code(defaultOnDeploy)}`],
  ].join("; ");
}

/** A lone bracket is no number, choice, pattern or address; a parser that takes it has nothing to say here. */
function accepted({ parse }: Setting<unknown>): string {
  const outcome = parse("(");
  return outcome.ok ? "" : outcome.error.replace(/^(must (be )?|is too weak; )/, "");
}

function code(text: string): string {
  return `\`${text}\``;
}

async function format(markdown: string): Promise<string> {
  const formatter = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--ext", "md", "-"],
    cwd: new URL("..", import.meta.url),
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = formatter.stdin.getWriter();
  await writer.write(new TextEncoder().encode(markdown));
  await writer.close();
  const { success, stdout } = await formatter.output();
  if (!success) throw new Error("deno fmt refused the page");
  return new TextDecoder().decode(stdout);
}

if (import.meta.main) await Deno.writeTextFile(path, await configurationReference());
