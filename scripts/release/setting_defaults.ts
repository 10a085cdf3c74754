/** Defaults of settings, for what is written about the program elsewhere. */
import type { Setting } from "../../src/config/setting.ts";
import { settings } from "../../src/config/settings.ts";

/** The default of the setting with this variable. Throws when there is none. */
export function defaultOf(variable: string): string {
  const setting = Object.values(settings as Record<string, Setting<unknown>>).find(({ env }) => env === variable);
  if (setting?.default === undefined) throw new TypeError(`${variable} has no default`);
  return setting.default;
}
