/** Defaults of settings, for what is written about the program elsewhere. */
import { settings } from "../../src/app/config/settings.ts";

/** The default of the setting with this variable. Throws when there is none. */
export function defaultOf(variable: string): string {
  const setting = settings.find(({ env }) => env === variable);
  if (setting?.default === undefined) throw new TypeError(`${variable} has no default`);
  return setting.default;
}
