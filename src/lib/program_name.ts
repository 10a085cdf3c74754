/** What a person types to start this program. Without Node's modules, which take longer to load than help to print. */

/** How the program was started, which decides what a person types. */
export interface Start {
  readonly standalone: boolean;
  /** The compiled program, or Deno's own. */
  readonly execPath: string;
  /** The source or the bundle, as an address; empty in a worker. */
  readonly mainModule: string;
  readonly cwd: string;
  readonly env: (name: string) => string | undefined;
  /** Whether the shell finds a program of this name. */
  readonly isOnPath: (name: string) => boolean;
}

/** What npm knows the program as. */
export const npmPackageName = "portcullis-mcp";

let known: string | null = null;

/** For a worker, which does not see how the program was started: what the main thread says. */
export function setProgramName(name: string): void {
  known = name;
}

/** The words before the command: Deno and the source's path, the compiled program, or the way into its container. */
export function programName(): string {
  return known ??= nameFor(thisStart());
}

/** {@link programName}, of a start. */
export function nameFor(start: Start): string {
  const source = start.standalone || isNpmPackage(start) ? [] : ["run", "-A", shownSource(start)];
  return [...programWords(start), ...source].map(shellWord).join(" ");
}

let given: Readonly<Record<string, string | undefined>> = {};

/** The flags of this run, of which command lines repeat those that say which installation is meant. */
export function setGivenFlags(flags: typeof given): void {
  given = flags;
}

const placeFlags = ["config", "data-dir"];
const furtherFlags: Readonly<Record<string, readonly string[]>> = {
  connect: ["port", "workspace"],
  doctor: ["port", "workspace"],
  healthcheck: ["port"],
  trash: ["workspace"],
};

/** A command line of this program, as the person who reads it can run it. */
export function commandLine(words: string): string {
  const [, command = "", action = "", rest = ""] = /^([a-z-]+)((?: [a-z][a-z-]*)*)(.*)$/s.exec(words) ?? [];
  const repeated = [...placeFlags, ...furtherFlags[command] ?? []].flatMap((name) => {
    const value = given[name];
    return value === undefined ? [] : [`--${name}`, shellWord(value)];
  });
  return `${[`${programName()} ${command}${action}`, ...repeated].join(" ")}${rest}`;
}

/** A text that names command lines as `portcullis WORDS` in back ticks, with what this person types. */
export function withCommandLines(text: string): string {
  return text.replaceAll(/`portcullis ([a-z][^`]*)`/g, (_, words: string) => `\`${commandLine(words)}\``);
}

/** A text before the program ends; a container of which it is the first process, or the init's, ends with it. */
export function lastWords(text: string, isFirst: boolean = Deno.pid === 1 || Deno.ppid === 1): string {
  if (!isFirst) return text;
  return withCommandLines(text).replaceAll(/\b(docker|podman) exec -it \S+ portcullis\b/g, "$1 run --rm -it IMAGE");
}

/** The program that a client starts, without a terminal: an absolute path, since its PATH may be another one. */
export function clientWords(start: Start = thisStart()): readonly string[] {
  const { execPath } = start;
  if (isInContainer(start)) return programWords(start).map((word) => word === "-it" ? "-i" : word);
  if (!isFromNpx(execPath)) return [execPath];
  return programWords(start).toSpliced(1, 0, "--prefer-offline"); // without, npx waits a minute where there is no network
}

function thisStart(): Start {
  return {
    standalone: Deno.build.standalone,
    execPath: Deno.execPath(),
    mainModule: Deno.mainModule ?? "",
    cwd: Deno.cwd(),
    env: (name) => Deno.env.get(name),
    isOnPath,
  };
}

/** Whether a program of this name is on the PATH; nothing is started. */
export function isOnPath(name: string): boolean {
  return (Deno.env.get("PATH") ?? "").split(onWindows ? ";" : ":").some((directory) => isFile(directory, name));
}

const onWindows = Deno.build.os === "windows";

function programWords(start: Start): readonly string[] {
  const { standalone, execPath, env, isOnPath } = start;
  if (isInContainer(start)) {
    const engine = env("container") === "podman" ? "podman" : "docker";
    return [engine, "exec", "-it", env("HOSTNAME") ?? "CONTAINER", "portcullis"];
  }
  if (isNpmPackage(start)) {
    return isOnPath(npmPackageName) && !isFromNpx(execPath) ? [npmPackageName] : ["npx", "-y", npmPackageName];
  }
  if (isFromNpx(execPath)) return ["npx", "-y", `deno@${Deno.version.deno}`];
  const name = standalone ? execPath.replace(/^.*[/\\]/, "").replace(/\.exe$/i, "") : "deno";
  return [isOnPath(name) ? name : execPath];
}

/** The image sets `container`, as podman does. */
function isInContainer({ standalone, env }: Start): boolean {
  return standalone && Boolean(env("container"));
}

/** Whether the launcher of the npm package started the program. */
function isNpmPackage({ mainModule }: Start): boolean {
  return mainModule.includes(`/node_modules/${npmPackageName}/`);
}

/** npx may clear the cache in which it keeps what it runs. */
function isFromNpx(execPath: string): boolean {
  return /[/\\]_npx[/\\]/.test(execPath);
}

/** Relative where that leads down from the working directory. */
function shownSource({ mainModule, cwd }: Start): string {
  if (!mainModule.startsWith("file:")) return mainModule;
  const path = decodeURIComponent(new URL(mainModule).pathname).slice(onWindows ? 1 : 0);
  const here = onWindows ? cwd.replaceAll("\\", "/") : cwd;
  return path.startsWith(`${here}/`) ? path.slice(here.length + 1) : path;
}

/** A word that the shell takes as it is. */
export function shellWord(word: string): string {
  if (/^[\w@%+=:,./\\-]+$/.test(word) && (onWindows || !word.includes("\\"))) return word;
  return onWindows ? `"${word}"` : `'${word.replaceAll("'", "'\\''")}'`;
}

function isFile(directory: string, name: string): boolean {
  try {
    return Deno.statSync(`${directory}/${name}${onWindows ? ".exe" : ""}`).isFile;
  } catch {
    return false; // not there, or not to be looked at
  }
}

/** What pages and the terminal say until a client has connected. */
export const waitingWords = "Waiting for your first connection…";

/** How the terminal shows the link that makes the owner. */
export function setUpWords(link: string): string {
  return `Open this link within 10 minutes:\n  ${link}\n`;
}
