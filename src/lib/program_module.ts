/**
 * Modules that are loaded by their place. A literal import would do, but Deno reads every module behind one, and all
 * that those may import, before the first line runs.
 */

/** The bundler writes the way from this module to the program's root over this text; from source it stays as it is. */
const rootOfBundle = "@PORTCULLIS_ROOT@";

/** Where the module at `path` lies, a path of the sources from their root. */
export function programModuleUrl(path: string): URL {
  const place = rootOfBundle.startsWith("@") ? `../../../${path}` : `${rootOfBundle}${path.replace(/ts$/, "js")}`;
  return new URL(place, import.meta.url);
}

/** Loads the module at `path`. scripts/bundle.ts lists each. */
export async function loadProgramModule<Module>(path: string): Promise<Module> {
  return await import(programModuleUrl(path).href);
}
