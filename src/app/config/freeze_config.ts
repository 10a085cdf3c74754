/** Freezes a configuration with its parts; a copy that another thread was sent is no longer frozen. */
export function freezeConfig<Configuration extends object>(config: Configuration): Configuration {
  for (const part of Object.values(config)) Object.freeze(part);
  return Object.freeze(config);
}
