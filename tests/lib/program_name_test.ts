/** What a person types to start the program, in each form in which they may have it. */
import assert from "node:assert/strict";
import {
  clientWords,
  lastWords,
  nameFor,
  programName,
  setProgramName,
  type Start,
  withCommandLines,
} from "../../src/lib/program_name.ts";

function start(
  changes: Partial<Omit<Start, "env" | "isOnPath">> & { env?: Record<string, string>; path?: string[] },
): Start {
  const { env = {}, path = ["deno"], ...others } = changes;
  return {
    standalone: false,
    execPath: "/usr/bin/deno",
    mainModule: "file:///home/anna/portcullis/main.ts",
    cwd: "/home/anna/portcullis",
    ...others,
    env: (name) => env[name],
    isOnPath: (name) => path.includes(name),
  };
}

const npx = `npx -y deno@${Deno.version.deno}`;
const cache = "/home/anna/.npm/_npx/2ec91f97b62d82de/node_modules/deno/deno";
const npmCache = "/home/anna/.npm/_npx/2ec91f97b62d82de";
const globalDeno = "/usr/lib/node_modules/deno/deno";
const inPackage = (place: string): string => `file://${place}/node_modules/portcullis-mcp/bundle/main.js`;
const installed = "/usr/local/bin/portcullis";
const compiled = { standalone: true, execPath: installed, path: ["portcullis"] };
const container = { HOSTNAME: "4f2a91c07b1e", container: "oci" };

/** How a command begins as a person types it, and as a client's configuration has it. */
const forms: Readonly<Record<string, readonly [start: Start, typed: string, forClients: string]>> = {
  "source with Deno": [start({}), "deno run -A main.ts", "/usr/bin/deno"],
  "source by npx": [
    start({ execPath: cache, path: [] }),
    `${npx} run -A main.ts`,
    npx.replace(" ", " --prefer-offline "),
  ],
  "a Deno beside the PATH": [start({ path: [] }), "/usr/bin/deno run -A main.ts", "/usr/bin/deno"],
  "source, from elsewhere": [
    start({ cwd: "/tmp" }),
    "deno run -A /home/anna/portcullis/main.ts",
    "/usr/bin/deno",
  ],
  "a directory with a blank and a quote": [
    start({ cwd: "/tmp", mainModule: "file:///home/it's%20mine/main.ts" }),
    "deno run -A '/home/it'\\''s mine/main.ts'",
    "/usr/bin/deno",
  ],
  bundle: [
    start({ mainModule: "file:///home/anna/portcullis/dist/bundle/portcullis.js" }),
    "deno run -A dist/bundle/portcullis.js",
    "/usr/bin/deno",
  ],
  "the npm package by npx": [
    start({ execPath: cache, mainModule: inPackage(npmCache), path: ["portcullis-mcp"] }),
    "npx -y portcullis-mcp",
    "npx --prefer-offline -y portcullis-mcp",
  ],
  "the npm package, installed": [
    start({ execPath: globalDeno, mainModule: inPackage("/usr/lib"), path: ["portcullis-mcp"] }),
    "portcullis-mcp",
    globalDeno,
  ],
  "the npm package, beside the PATH": [
    start({ execPath: globalDeno, mainModule: inPackage("/usr/lib"), path: [] }),
    "npx -y portcullis-mcp",
    globalDeno,
  ],
  compiled: [start(compiled), "portcullis", installed],
  "compiled, beside the PATH": [start({ ...compiled, path: [] }), installed, installed],
  container: [
    start({ ...compiled, env: container }),
    "docker exec -it 4f2a91c07b1e portcullis",
    "docker exec -i 4f2a91c07b1e portcullis",
  ],
  "container of podman": [
    start({ ...compiled, env: { ...container, container: "podman" } }),
    "podman exec -it 4f2a91c07b1e portcullis",
    "podman exec -i 4f2a91c07b1e portcullis",
  ],
};

for (const [form, [given, typed, forClients]] of Object.entries(forms)) {
  Deno.test(`a command is printed as this person types it: ${form}`, () => {
    assert.equal(nameFor(given), typed);
    assert.equal(clientWords(given).join(" "), forClients);
  });
}

Deno.test("command lines within a text are printed as this person types them, and nothing else is touched", () => {
  const before = programName();
  setProgramName("npx -y deno run -A main.ts");
  try {
    assert.equal(
      withCommandLines("run `portcullis keys rotate`; `portcullis` is it, portcullis doctor, `x portcullis y`"),
      "run `npx -y deno run -A main.ts keys rotate`; `portcullis` is it, portcullis doctor, `x portcullis y`",
    );
  } finally {
    setProgramName(before);
  }
});

Deno.test("a container that ends names the command for another one: nothing can be run in it any more", () => {
  const before = programName();
  const text = (name: string) =>
    `error: no\nhint: \`portcullis doctor\` tells; \`${name} config --all\` explains, \`${name} -h\`\n`;
  try {
    for (const engine of ["docker", "podman"]) {
      const name = nameFor(
        start({ ...compiled, env: { ...container, container: engine === "docker" ? "oci" : engine } }),
      );
      setProgramName(name);
      const next = `${engine} run --rm -it IMAGE`;
      assert.equal(lastWords(text(name), true), text(next).replace("portcullis doctor", `${next} doctor`));
      assert.equal(lastWords(text(name), false), text(name));
    }
    setProgramName(nameFor(start(compiled)));
    assert.equal(withCommandLines(lastWords(text("portcullis"), true)), withCommandLines(text("portcullis")));
  } finally {
    setProgramName(before);
  }
});
