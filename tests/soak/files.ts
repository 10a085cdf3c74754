/** The actor that changes files in a directory of its own: writes, appends, edits, moves, copies, deletes. */
import assert from "node:assert/strict";
import { type Actor, persist, type Stage, unlessCut } from "./actor.ts";
import { callTool, readFile } from "./mcp.ts";

/** What is where: paths and contents. */
export type Tree = ReadonlyMap<string, string>;

/** An actor whose files can be compared with the workspace. */
export interface FilesActor extends Actor {
  readonly tree: () => Tree;
}

/** One change as the tool is asked for it, and what the files are after it. */
interface Change {
  readonly tool: string;
  readonly input: Record<string, unknown>;
  readonly after: Tree;
}

const names = ["a.txt", "b.txt", "c.txt", "d.txt", "notes/a.txt", "notes/b.txt", "notes/deep/c.txt"];
const maxContent = 900_000; // within what one read gives: one answer shows all of it

/** Works below `directory`, of which nobody else changes anything. */
export function createFilesActor(directory: string, stage: Stage, token: string): FilesActor {
  const { server, random, count } = stage;
  let tree: Tree = new Map();
  let written = 0;

  const text = (): string => {
    const size = random.chance(0.05) ? 200_000 : random.chance(0.3) ? 8_000 : 200;
    written += 1;
    return `${directory} ${written}\n${String.fromCharCode(97 + random.int(26)).repeat(random.int(size))}\n`;
  };
  const anyPath = (): string => `${directory}/${random.pick(names)}`;
  const changed = (...entries: readonly (readonly [string, string | null])[]): Tree => {
    const after = new Map(tree);
    for (const [path, content] of entries) {
      if (content === null) after.delete(path);
      else after.set(path, content);
    }
    return after;
  };

  const write = (): Change => {
    const [filename, content] = [anyPath(), text()];
    const mode = tree.has(filename) || random.chance(0.5) ? "overwrite" : "create";
    return { tool: "file_write", input: { filename, content, mode }, after: changed([filename, content]) };
  };
  const append = (): Change => {
    const [filename, content] = [anyPath(), text()];
    const before = tree.get(filename) ?? "";
    if (before.length + content.length > maxContent) return write();
    return {
      tool: "file_write",
      input: { filename, content, mode: "append" },
      after: changed([filename, before + content]),
    };
  };
  const edit = (): Change => {
    const filename = random.pick([...tree.keys()]);
    const before = tree.get(filename) ?? "";
    const oldText = before.slice(0, before.indexOf("\n") + 1);
    const newText = `${directory} edited ${written += 1}\n`;
    const after = before.replaceAll(oldText, newText);
    return {
      tool: "file_edit",
      input: { filename, old_text: oldText, new_text: newText, replace_all: true },
      after: changed([filename, after]),
    };
  };
  const moveOrCopy = (copy: boolean): Change => {
    const [filename, destination] = [random.pick([...tree.keys()]), anyPath()];
    if (filename === destination) return write();
    const content = tree.get(filename) ?? "";
    const after = changed([filename, copy ? content : null], [destination, content]);
    return { tool: "file_move", input: { path: filename, destination, copy, overwrite: true }, after };
  };
  const remove = (): Change => {
    const filename = random.pick([...tree.keys()]);
    return { tool: "file_delete", input: { filename }, after: changed([filename, null]) };
  };
  const below = (prefix: string): string[] => [...tree.keys()].filter((path) => path.startsWith(prefix));
  const removeDirectory = (): Change => {
    const paths = below(`${directory}/notes/`);
    if (paths.length === 0) return write();
    return {
      tool: "file_delete",
      input: { filename: `${directory}/notes`, recursive: true },
      after: changed(...paths.map((path) => [path, null] as const)),
    };
  };
  const moveDirectory = (): Change => {
    const paths = below(`${directory}/notes/`);
    if (paths.length === 0) return write();
    const destination = `${directory}/moved-${written += 1}`;
    const moved = paths.flatMap((path) => [
      [path, null] as const,
      [path.replace(`${directory}/notes`, destination), tree.get(path) ?? ""] as const,
    ]);
    return { tool: "file_move", input: { filename: `${directory}/notes`, destination }, after: changed(...moved) };
  };
  /** What moved away is deleted as a whole before there is too much of it. */
  const tidy = (): Change | null => {
    const moved = new Set(below(`${directory}/moved-`).map((path) => path.split("/").slice(0, 2).join("/")));
    if (moved.size < 3) return null;
    const [filename = ""] = moved;
    const gone = below(`${filename}/`).map((path) => [path, null] as const);
    return { tool: "file_delete", input: { filename, recursive: true }, after: changed(...gone) };
  };
  const nextChange = (): Change => {
    const dice = random.int(100);
    if (tree.size === 0 || dice < 35) return write();
    if (dice < 55) return append();
    if (dice < 67) return edit();
    if (dice < 77) return moveOrCopy(false);
    if (dice < 85) return moveOrCopy(true);
    if (dice < 93) return remove();
    return tidy() ?? (dice < 97 ? removeDirectory() : moveDirectory());
  };

  const look = (path: string): Promise<string | null> => persist(() => readFile(server, token, path));
  /** After a kill, the paths that the change touches are all as before it, or all as after it. */
  const settle = async ({ tool, input, after }: Change): Promise<void> => {
    const touched = [...new Set([...tree.keys(), ...after.keys()])].filter((path) =>
      tree.get(path) !== after.get(path)
    );
    const found = await Promise.all(touched.map(look));
    const isLike = (model: Tree): boolean => touched.every((path, index) => (model.get(path) ?? null) === found[index]);
    if (isLike(after)) tree = after;
    else {
      assert.ok(
        isLike(tree),
        `${tool} ${JSON.stringify(input).slice(0, 200)}, cut off, left neither the old nor the new files: ${
          touched.map((path, index) => `${path}: ${describe(found[index] ?? null)}`).join(", ")
        }`,
      );
    }
    count(`${tool} in doubt`);
  };

  return {
    name: directory,
    async step() {
      const change = nextChange();
      const watched = random.pick([...new Set([...tree.keys(), ...change.after.keys(), anyPath()])]);
      const allowed = [tree.get(watched) ?? null, change.after.get(watched) ?? null];
      const [done, seen] = await Promise.all([
        unlessCut(callTool(server, token, change.tool, change.input).then(() => true)),
        random.chance(0.3) ? unlessCut(readFile(server, token, watched).then((content) => ({ content }))) : null,
      ]);
      assert.ok(
        seen === null || allowed.includes(seen.content),
        `a reader saw ${describe(seen?.content ?? null)} at ${watched} during ${change.tool}`,
      );
      if (done === null) return await settle(change);
      tree = change.after;
      count(change.tool);
    },
    rest: () => Promise.resolve(),
    async audit() {
      for (const [path, content] of tree) {
        assert.equal(describe(await look(path)), describe(content), `${path} holds what was acknowledged`);
      }
    },
    tree: () => tree,
  };
}

/** A content in few words. */
function describe(content: string | null): string {
  if (content === null) return "nothing";
  return content.length <= 300
    ? JSON.stringify(content)
    : `${JSON.stringify(content.slice(0, 100))}... (${content.length} characters, ${
      content.split("\n").length
    } lines, ends ${JSON.stringify(content.slice(-40))})`;
}
