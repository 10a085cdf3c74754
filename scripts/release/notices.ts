/**
 * `deno task release notices [FILE]`: the licences of what the program is made of: each package that deno.lock pins, with the
 * text that it ships, and Deno.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { root } from "../bundle.ts";

/** A package in the program. */
export interface LicensedPackage {
  readonly name: string;
  readonly version: string;
  /** As SPDX names it. */
  readonly license: string;
  readonly text: string;
}

/** The file's name beside a program. */
export const noticesName = "THIRD_PARTY_NOTICES.txt";

const licenseFiles = ["LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "UNLICENSE"];

/** Packages that ship no text of their licence: what their repository says. */
const missingTexts: Readonly<Record<string, string>> = {
  postgres: `This is free and unencumbered software released into the public domain.

Anyone is free to copy, modify, publish, use, compile, sell, or distribute this software, either in source code form or
as a compiled binary, for any purpose, commercial or non-commercial, and by any means. https://unlicense.org/`,
};

const denoLicense = `MIT License

Copyright 2018-2026 the Deno authors

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.

Deno is made of V8 (BSD-3-Clause), SQLite (public domain) and Rust crates; its sources name the licence of each:
https://github.com/denoland/deno`;

/** Where Deno keeps a package. */
async function packageDirectory(name: string, version: string): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"], cwd: root }).output();
  const { npmCache } = JSON.parse(new TextDecoder().decode(stdout)) as { readonly npmCache: string };
  for (const registry of Deno.readDirSync(npmCache)) {
    const directory = join(npmCache, registry.name, name, version);
    if (existsSync(join(directory, "package.json"))) return directory;
  }
  throw new Error(`${name} ${version} is not in Deno's cache: run deno install --frozen`);
}

/** The packages of a lock file, with their licences. Throws when one has none. */
export async function licensedPackages(lockFile: string): Promise<LicensedPackage[]> {
  const ids = Object.keys((JSON.parse(lockFile) as { readonly npm: Readonly<Record<string, unknown>> }).npm);
  return await Promise.all(ids.map(async (id) => {
    const at = id.indexOf("@", 1);
    const [name, version] = [id.slice(0, at), id.slice(at + 1).split("_", 1)[0] ?? ""];
    const directory = await packageDirectory(name, version);
    const { license } = JSON.parse(await Deno.readTextFile(join(directory, "package.json"))) as { license?: string };
    const file = licenseFiles.find((each) => existsSync(join(directory, each)));
    const text = file === undefined ? missingTexts[name] : await Deno.readTextFile(join(directory, file));
    if (license === undefined || text === undefined) throw new Error(`${id} says nothing of its licence`);
    return { name, version, license, text: text.trim() };
  }));
}

/** The notices as one text. */
export function thirdPartyNotices(packages: readonly LicensedPackage[], denoVersion: string): string {
  const all = [...packages, { name: "Deno", version: denoVersion, license: "MIT", text: denoLicense }];
  const rule = "-".repeat(80);
  const sections = all.map(({ name, version, license, text }) =>
    `${rule}\n${name} ${version} (${license})\n\n${text}\n`
  );
  return ["Portcullis is under the MIT licence (LICENSE). It contains:\n", ...sections].join("\n");
}

if (import.meta.main) {
  const lockFile = await Deno.readTextFile(join(root, "deno.lock"));
  const notices = thirdPartyNotices(await licensedPackages(lockFile), Deno.version.deno);
  if (Deno.args[0] === undefined) process.stdout.write(notices);
  else await Deno.writeTextFile(Deno.args[0], notices);
}
