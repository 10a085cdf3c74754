/** What a broken or hostile tool could try. Each attempt answers with proof that it worked, or throws. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { DatabaseSync } from "node:sqlite";
import { libraryPaths } from "../../src/lib/start_flags.ts";

/** Where the attempts aim. */
export interface Targets {
  /** A file outside the workspace and the data directory, and a path beside it where nothing is. */
  readonly secretPath: string;
  readonly newPath: string;
  readonly workspaceDir: string;
  readonly dataDir: string;
  /** A program, and somebody who listens elsewhere. */
  readonly program: string;
  readonly elsewhere: { readonly hostname: string; readonly port: number };
}

/** One attempt: gives proof. */
export type Attempt = (targets: Targets) => unknown;

/** Attempts that a process with every permission succeeds at. */
export const attempts: Readonly<Record<string, Attempt>> = {
  "read a file outside": ({ secretPath }) => Deno.readTextFileSync(secretPath),
  "read /etc/passwd by node:fs": () => readFileSync("/etc/passwd", "utf8"),
  "read the master key": ({ dataDir }) => Deno.readFileSync(`${dataDir}/master.key`).byteLength,
  "list the data directory": ({ dataDir }) => Array.from(Deno.readDirSync(dataDir)).length,
  "open the database": ({ dataDir }) => new DatabaseSync(`${dataDir}/portcullis.db`).close(),
  "read /proc/self/environ": () => Deno.readTextFileSync("/proc/self/environ"),
  "write a file outside": ({ newPath }) => Deno.writeTextFileSync(newPath, "was here"),
  "write outside by node:fs": ({ newPath }) => writeFileSync(newPath, "was here"),
  "write into the data directory": ({ dataDir }) => Deno.writeTextFileSync(`${dataDir}/planted`, "was here"),
  "make a link that leads out": ({ workspaceDir, secretPath }) =>
    Deno.symlinkSync(secretPath, `${workspaceDir}/${crypto.randomUUID()}`),
  "give a file outside a name inside": ({ workspaceDir, secretPath }) =>
    Deno.linkSync(secretPath, `${workspaceDir}/${crypto.randomUUID()}`),
  "run a process": ({ program }) => new Deno.Command(program, { args: ["--version"] }).outputSync().code,
  "run a process by node:child_process": ({ program }) => execFileSync(program, ["--version"]).toString(),
  "connect elsewhere": async ({ elsewhere }) => (await Deno.connect(elsewhere)).close(),
  "fetch from elsewhere": async ({ elsewhere }) =>
    await (await fetch(`http://${elsewhere.hostname}:${elsewhere.port}/`)).text(),
  "listen on another port": ({ elsewhere }) => Deno.listen({ hostname: elsewhere.hostname, port: 0 }).close(),
  "read an environment variable": () => Deno.env.get("PATH"),
  "read the whole environment": () => Deno.env.toObject(),
  "change the environment": () => Deno.env.set("PORTCULLIS_TEST", "was here"),
  "ask for the machine's name": () => Deno.hostname(),
  "ask for it by node:os": () => hostname(),
  "call a C library by a path that the server may load": () => {
    const failures = libraryPaths.flatMap((path) => {
      try {
        Deno.dlopen(path, { getpid: { parameters: [], result: "i32" } }).close();
        return [];
      } catch (error) {
        return [error];
      }
    });
    if (failures.length === libraryPaths.length) throw failures[0];
  },
  "call a C library": () => Deno.dlopen("libc.so.6", { getpid: { parameters: [], result: "i32" } }).close(),
};
