/**
 * `deno task reference`: writes docs/configuration.md from the table of settings, and docs/commands.md. What a setting
 * accepts is what its parser says when it refuses, so the page and the program cannot differ.
 */
import { acceptedText, type Setting } from "../src/lib/settings.ts";
import { settingSections } from "../src/app/config/settings.ts";
import { commandReference } from "./command_reference.ts";

const path = new URL("../docs/configuration.md", import.meta.url);

const introduction = `# Configuration

<!-- Made by \`deno task reference\` from the parts' settings.ts; a test compares. -->

Every setting is an environment variable and can stand in a file; some are flags too. A flag outranks the environment,
which outranks the file, which outranks the default; an empty variable counts as absent. A secret can come from a file
of its own instead: \`DCR_AUTH_TOKEN_FILE=/run/secrets/dcr\` reads it from there. \`portcullis config\` prints the settings
in force with their sources, and secrets as "set"; \`portcullis config --all\` explains each. All problems are reported
together at the start, with exit status 2 and without secrets. A variable whose name is nearly a setting's is named in a
warning. \`portcullis doctor\` tries what can be tried.

## The configuration file

\`--config FILE\` names it; without the flag, \`~/.portcullis.env\` is read if it is there. Each line is \`NAME=value\` with a
name of this page:

\`\`\`sh
# /etc/portcullis.env
SERVER_URL=https://mcp.example.com
export DATA_DIR="/var/lib/portcullis/data"
DCR_AUTH_TOKEN_FILE=/run/secrets/dcr    # a comment
\`\`\`

- Blank lines and lines that begin with \`#\` are skipped; \`export\`, CRLF and blanks around the name and the value are
  allowed. A value without quotes ends before a blank with \`#\` behind it.
- Quotes, single or double, are taken off, and what is between them stays as it is. Nothing is expanded or escaped but
  \`~\`, \`$HOME\` or \`\${HOME}\` at the beginning of a path, which every source of settings may use; so the dollar signs of \`OWNER_PASSWORD_HASH\` need no quotes. A value is one line.
- A name that is not a setting, or that stands there twice, is an error with the line's number. Values are never shown.
- A file that others can read or change is refused: \`chmod 600 FILE\`. A file of root may be readable for a group
  (\`chown root:portcullis FILE && chmod 640 FILE\`), so that a service can read it and not change it. Windows has no such
  modes, and the file is not checked there.
- It cannot lie in the workspace, \`backup\` does not copy it, and it is not read on Deno Deploy, where settings are
  variables of the app. It is at most 64 KiB.

## Rules between settings

A time is a number of seconds, or a number with a unit: \`90s\`, \`45m\`, \`12h\`, \`30d\`.
\`SERVER_URL\` must be set unless the server listens on this machine alone. With a public
\`SERVER_URL\`, registration of clients needs \`DCR_AUTH_TOKEN\`, or \`REGISTRATION=off\`. With the workspace on the disk,
\`DATA_DIR\`, the certificates and keys that settings name, and the files of secrets cannot
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
    acceptedText(setting),
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function defaults({ default: usual, defaultOnDeploy }: Setting<unknown>): string {
  return [
    ...usual === undefined ? [] : [code(usual)],
    ...defaultOnDeploy === undefined ? [] : [`on Deno Deploy ${code(defaultOnDeploy)}`],
  ].join("; ");
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

if (import.meta.main) {
  await Deno.writeTextFile(path, await configurationReference());
  await Deno.writeTextFile(new URL("../docs/commands.md", import.meta.url), await commandReference());
}
