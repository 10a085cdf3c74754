import assert from "node:assert/strict";
import fc from "fast-check";
import { homedir } from "node:os";
import * as node from "node:path";
import { absolutePath, homeDirectory, parentOf, pathBelow, rootOf } from "../../src/lib/system_path.ts";

const names = fc.array(fc.constantFrom("", ".", "..", "a", "b.c", "...", " ", "ä", "\\", "~"), { maxLength: 8 });
const paths = fc.tuple(fc.constantFrom("", "/", "//"), names).map(([start, rest]) => start + rest.join("/"));

Deno.test("paths are spelled as Node spells them", () => {
  fc.assert(fc.property(paths, names, (path, rest) => {
    assert.equal(absolutePath(path), node.resolve(path));
    assert.equal(pathBelow(path, rest.join("/")), node.resolve(`${path}/${rest.join("/")}`));
    assert.equal(parentOf(node.resolve(path)), node.dirname(node.resolve(path)));
    assert.equal(rootOf(path), node.parse(path).root);
  }));
});

Deno.test("the home directory is HOME, and the system's where that is empty", () => {
  const home = Deno.env.get("HOME");
  try {
    for (const value of ["/somewhere", ""]) {
      Deno.env.set("HOME", value);
      assert.equal(homeDirectory(), homedir());
    }
  } finally {
    if (home === undefined) Deno.env.delete("HOME");
    else Deno.env.set("HOME", home);
  }
});
