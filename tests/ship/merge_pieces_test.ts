/** Pieces of a bundle that are merged: the program is the same, and a form that is not known stops the build. */
import assert from "node:assert/strict";
import { mergePieces } from "../../scripts/merge_pieces.ts";

const together = { name: "one", entries: ["entry.js"], except: "main.js" };
const pieces: Readonly<Record<string, string>> = {
  "main.js": 'import{a as b}from"./shared-AAAAAAAA.js";console.log(b);await import("./entry.js");',
  "entry.js": 'import{c as d}from"./own-BBBBBBBB.js";import{a}from"./shared-AAAAAAAA.js";var e=d+a;export{e};',
  "other.js": 'import{c as x,f}from"./own-BBBBBBBB.js";console.log(x,f);',
  "own-BBBBBBBB.js": 'import{a as g}from"./shared-AAAAAAAA.js";var h=g+1,i="from";export{h as c,i as f};',
  "shared-AAAAAAAA.js": "var j=40;export{j as a};",
};

async function merge(changed: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const directory = await Deno.makeTempDir();
  try {
    for (const [name, text] of Object.entries({ ...pieces, ...changed })) {
      await Deno.writeTextFile(`${directory}/${name}`, text);
    }
    await mergePieces(directory, together);
    const args = [
      "eval",
      `import "file://${directory}/main.js"; import "file://${directory}/other.js";
      import { e } from "file://${directory}/entry.js"; console.log(e);`,
    ];
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
    assert.equal(new TextDecoder().decode(stderr), "");
    assert.deepEqual(Array.from(Deno.readDirSync(directory), ({ name }) => name).sort(), [
      ...["entry.js", "main.js", "one-TOGETHER.js", "other.js", "shared-AAAAAAAA.js"],
    ]);
    return new TextDecoder().decode(stdout).trim().split("\n");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("pieces that are merged do what they did apart", async () => {
  assert.deepEqual(await merge(), ["40", "41 from", "81"]);
});

const otherForms: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "a namespace": { "other.js": 'import*as o from"./own-BBBBBBBB.js";console.log(o.c,o.f);' },
  "a default": {
    "other.js": 'import o from"./own-BBBBBBBB.js";console.log(o);',
    "own-BBBBBBBB.js": "export default 41;var h=41;export{h as c};",
  },
  "blanks": { "other.js": 'import { c as x, f } from "./own-BBBBBBBB.js";\nconsole.log(x, f);\n' },
  "other quotes": { "other.js": "import{c as x,f}from'./own-BBBBBBBB.js';console.log(x,f);" },
  "attributes": { "other.js": 'import{c as x,f}from"./own-BBBBBBBB.js"with{type:"javascript"};console.log(x,f);' },
  "names in quotes": {
    "other.js": 'import{"c" as x}from"./own-BBBBBBBB.js";console.log(x);',
  },
  "exports that are handed on": { "other.js": 'export{c}from"./own-BBBBBBBB.js";' },
  "exports of all": { "other.js": 'export*from"./own-BBBBBBBB.js";' },
  "exports where they are declared": { "own-BBBBBBBB.js": 'export var c=41;export var f="from";' },
  "an export list before the end": { "own-BBBBBBBB.js": "export{h as c,h as f};var h=41;" },
  "a text that looks like an import": {
    "other.js": 'import{c as x}from"./own-BBBBBBBB.js";console.log(x,`import"./shared-AAAAAAAA.js";`);',
  },
};

for (const [what, changed] of Object.entries(otherForms)) {
  Deno.test(`a bundler that writes ${what} is noticed`, async () => {
    await assert.rejects(merge(changed), /the bundler writes its modules in another form by now/);
  });
}
