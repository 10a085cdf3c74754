/** Structured logging: one JSON object a line. No token, code, verifier or password is ever handed to it. */

/** Field values a log line may carry. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | readonly string[] | undefined>>;

/** How much a line matters. `audit` lines record who did what and are never filtered out. */
export type LogLevel = "debug" | "info" | "warn" | "error" | "audit";

/** Writes structured lines; `event` is a stable snake_case name. */
export interface Log {
  write(level: LogLevel, event: string, fields?: LogFields): void;
  /** Forces out everything written so far. */
  flush(): void;
}
