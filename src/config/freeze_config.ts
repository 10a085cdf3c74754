import type { Config } from "./config.ts";

/** Freezes a configuration with its parts; a copy that another thread was sent is no longer frozen. */
export function freezeConfig(config: Config): Config {
  for (const part of Object.values(config)) Object.freeze(part);
  return Object.freeze(config);
}
