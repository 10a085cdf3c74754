/** Loads a library that is in no lock file, at an exact version. */
import { ClientNotInstalled } from "../client_not_installed.ts";

/** What the library exports; {@link ClientNotInstalled} where it cannot be had. */
export async function importFromNpm<Library>(specifier: string): Promise<Library> {
  try {
    return await import(`npm:${specifier}`) as Library;
  } catch (error) {
    throw new ClientNotInstalled(`npm:${specifier}: ${error instanceof Error ? error.message : error}`);
  }
}
