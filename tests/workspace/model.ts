/** A workspace as a plain map: what the real ones are compared with. Paths to content; `null` is a directory. */
import type { WriteOptions } from "../../src/files/workspace/port.ts";

/** What an operation gives: a value to compare, or the reason of the refusal. */
export type Expected = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string };

type Tree = Map<string, string | null>;
type Place = { readonly reason: string } | { readonly reason: null; readonly content: string | null | undefined };

/** The model. It starts empty. */
export interface ModelWorkspace {
  read(path: string): Expected;
  write(path: string, content: string, mode: NonNullable<WriteOptions["mode"]>): Expected;
  copy(from: string, to: string, overwrite: boolean): Expected;
  move(from: string, to: string, overwrite: boolean): Expected;
  remove(path: string, recursive: boolean): Expected;
  makeDirectory(path: string): Expected;
  list(path: string): Expected;
}

/** Makes a model. */
export function createModel(): ModelWorkspace {
  const tree: Tree = new Map();

  /** The content at the path; `undefined` when nothing is there. */
  const find = (path: string): Place => {
    const names = path.split("/");
    for (let count = 1; count < names.length; count++) {
      const above = tree.get(names.slice(0, count).join("/"));
      if (above === undefined) return { reason: null, content: undefined };
      if (above !== null) return { reason: "not_a_directory" };
    }
    return { reason: null, content: tree.get(path) };
  };
  const put = (path: string, content: string | null): void => {
    const names = path.split("/");
    for (let count = 1; count < names.length; count++) tree.set(names.slice(0, count).join("/"), null);
    tree.set(path, content);
  };
  const below = (path: string): string[] => [...tree.keys()].filter((key) => key.startsWith(`${path}/`));

  return {
    read(path) {
      const place = find(path);
      if (place.reason !== null) return refuse(place.reason);
      if (place.content === undefined) return refuse("not_found");
      return place.content === null ? refuse("is_directory") : give(place.content);
    },
    write(path, content, mode) {
      const place = find(path);
      if (place.reason !== null) return refuse(place.reason);
      if (place.content === null) return refuse("is_directory");
      if (mode === "create" && place.content !== undefined) return refuse("already_exists");
      put(path, mode === "append" ? (place.content ?? "") + content : content);
      return give({ created: place.content === undefined, sizeBytes: tree.get(path)?.length });
    },
    copy(from, to, overwrite) {
      const target = find(to);
      if (target.reason !== null) return refuse(target.reason);
      if (target.content === null) return refuse("is_directory");
      if (target.content !== undefined && !overwrite) return refuse("already_exists");
      const source = this.read(from);
      if (!source.ok) return source;
      put(to, String(source.value));
      return give({ created: target.content === undefined, sizeBytes: String(source.value).length });
    },
    move(from, to, overwrite) {
      const source = find(from);
      if (source.reason !== null) return refuse(source.reason);
      if (source.content === undefined) return refuse("not_found");
      const target = find(to);
      if (target.reason !== null) return refuse(target.reason);
      if (source.content === null && to.startsWith(`${from}/`)) return refuse("into_itself");
      if (target.content !== undefined) {
        if (!overwrite) return refuse("already_exists");
        if (target.content === null) return refuse("is_directory");
        if (source.content === null) return refuse("already_exists");
      }
      const moved = [
        [from, source.content] as const,
        ...below(from).map((key) => [key, tree.get(key) ?? null] as const),
      ];
      for (const [key] of moved) tree.delete(key);
      for (const [key, content] of moved) put(to + key.slice(from.length), content);
      return give(null);
    },
    remove(path, recursive) {
      const place = find(path);
      if (place.reason !== null) return refuse(place.reason);
      if (place.content === undefined) return refuse("not_found");
      const inside = below(path);
      if (inside.length > 0 && !recursive) return refuse("not_empty");
      for (const key of [path, ...inside]) tree.delete(key);
      return give({ entries: 1 + inside.length });
    },
    makeDirectory(path) {
      const place = find(path);
      if (place.reason !== null) return refuse(place.reason);
      if (typeof place.content === "string") return refuse("already_exists");
      put(path, null);
      return give({ created: place.content === undefined });
    },
    list(path) {
      if (path !== "") {
        const place = find(path);
        if (place.reason !== null) return refuse(place.reason);
        if (place.content === undefined) return refuse("not_found");
        if (place.content !== null) return refuse("not_a_directory");
      }
      const prefix = path === "" ? "" : `${path}/`;
      const inside = [...tree].filter(([key]) => key.startsWith(prefix) && !key.slice(prefix.length).includes("/"));
      return give(inside.map(([key, content]) => `${key.slice(prefix.length)}${content === null ? "/" : ""}`).sort());
    },
  };
}

function give(value: unknown): Expected {
  return { ok: true, value };
}

function refuse(reason: string): Expected {
  return { ok: false, reason };
}
