/** Log levels of the protocol: the severities of RFC 5424 §6.2.1, from the least to the most serious. */

/** Levels in rising order. */
export const logLevels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

export type LoggingLevel = typeof logLevels[number];

export function isLoggingLevel(value: unknown): value is LoggingLevel {
  return (logLevels as readonly unknown[]).includes(value);
}

/** Whether a message of `level` is to be sent to someone who asked for `minimum` and above. */
export function reachesLevel(level: LoggingLevel, minimum: LoggingLevel): boolean {
  return logLevels.indexOf(level) >= logLevels.indexOf(minimum);
}
