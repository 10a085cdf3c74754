/** Command-line clients from npm, at exact versions, each in a home directory of its own. */
import { pause } from "../../src/lib/time.ts";
import { approve } from "../fixtures/owner.ts";
import type { Person } from "../fixtures/person.ts";
import { ClientNotInstalled } from "./client_not_installed.ts";

/** An installed client. */
export interface NpmClient extends AsyncDisposable {
  /** Its home directory, which is where it runs too. */
  readonly home: string;
  /** Runs a command line to its end; gives what it printed. It is ended after `seconds`. */
  shell(command: string, seconds?: number): Promise<string>;
  /** The same on a terminal, with a person who approves at the sign-in link that it prints, or opens from its screen. */
  signIn(command: string, person: Person, screen?: Screen): Promise<string>;
  /** Starts a command line, to be ended by its process. */
  spawn(command: string): Deno.ChildProcess;
}

/** A client that draws on the terminal, where it signs in and does not end by itself. */
export interface Screen {
  /** Its question whether to go on. */
  readonly question: RegExp;
  /** The file in its home directory that it writes when it has signed in. */
  readonly signedInFile: string;
}

const yes = ["y", "\r", "\r"];
const installSeconds = 300;
const runSeconds = 180; // agents start anew for each call, slowly on a busy machine
const pollMs = 300;

/** Installs `packages` ("name@version") into a fresh prefix. */
export async function installFromNpm(
  packages: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<NpmClient> {
  const home = await Deno.makeTempDir({ prefix: "portcullis-client-" });
  const prefix = `${home}/prefix`;
  const install = ["install", "--no-audit", "--no-fund", "--prefix", prefix, ...packages];
  const installed = await new Deno.Command("timeout", {
    args: [String(installSeconds), "npm", ...install],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  if (!installed.success) {
    const reason = new TextDecoder().decode(installed.stderr).trim().split("\n").at(-1);
    await Deno.remove(home, { recursive: true });
    throw new ClientNotInstalled(`npm install ${packages.join(" ")}: ${reason}`);
  }
  const env = {
    HOME: home,
    PATH: `${prefix}/node_modules/.bin:${Deno.env.get("PATH")}`,
    NO_COLOR: "1",
    TERM: "dumb",
    ...environment,
  };
  const openedLinks = `${home}/opened-links`;
  const browser = `${prefix}/node_modules/.bin/xdg-open`;
  await Deno.writeTextFile(browser, `#!/bin/sh\necho "$1" >> ${openedLinks}\n`, { mode: 0o755 });
  const start = (args: string[], seconds: number, stdin: "null" | "piped" = "null"): Deno.ChildProcess =>
    new Deno.Command("timeout", {
      args: [String(seconds), ...args],
      env,
      clearEnv: true,
      cwd: home,
      stdin,
      stdout: "piped",
      stderr: "null",
    }).spawn();
  return {
    home,
    spawn: (command) => start(["sh", "-c", `exec ${command} 2>&1`], runSeconds),
    async shell(command, seconds = runSeconds) {
      return new TextDecoder().decode((await start(["sh", "-c", `${command} 2>&1`], seconds).output()).stdout);
    },
    async signIn(command, person, screen) {
      const wide = screen === undefined ? command : `stty cols 200 rows 50; ${command}`; // so that no line is cut in two
      const child = start(["script", "-qfec", wide, "/dev/null"], runSeconds, "piped");
      let said = "";
      const reading = child.stdout.pipeThrough(new TextDecoderStream()).pipeTo(
        new WritableStream({ write: (chunk) => void (said += chunk) }),
      );
      const terminal = child.stdin.getWriter();
      const keys = [...yes];
      let isApproved = false;
      let isSignedIn = false;
      let hasEnded = false;
      const ended = child.status.then(() => hasEnded = true);
      while (!hasEnded) {
        await Promise.race([ended, pause(pollMs)]);
        const link = screen === undefined ? findLink(said) : (await readText(openedLinks)).split("\n", 1)[0];
        if (!isApproved && link !== undefined && link !== "") {
          isApproved = true;
          await (await fetch(await approve(person, new URL(link)))).body?.cancel();
        }
        if (screen === undefined) continue;
        const key = screen.question.test(said) ? keys.shift() : undefined;
        if (key !== undefined) await terminal.write(new TextEncoder().encode(key));
        if (!isSignedIn && await readText(`${home}/${screen.signedInFile}`) !== "") {
          isSignedIn = true;
          child.kill("SIGTERM");
        }
      }
      await terminal.close().catch(() => {});
      await reading;
      await Deno.remove(openedLinks).catch(() => {});
      return said;
    },
    [Symbol.asyncDispose]: () => Deno.remove(home, { recursive: true }),
  };
}

async function readText(path: string): Promise<string> {
  return await Deno.readTextFile(path).catch(() => "");
}

/** The whole link of the sign-in: what follows it is there too. Terminals are told of links by control characters. */
function findLink(text: string): string | undefined {
  // deno-lint-ignore no-control-regex
  return /(http[^\s\x07\x1b]+\/oauth\/authorize\?[^\s\x07\x1b]+)[\s\x07\x1b]/.exec(text)?.[1];
}
