/** What a setting is. */
import type { SettingParser } from "./parsers.ts";

/** One setting. `default` is text, so that it goes through the same parser; without it the setting may be absent. */
export interface Setting<T> {
  readonly env: string;
  readonly flag?: string;
  readonly default?: string;
  /** Its default on Deno Deploy, where that is another. */
  readonly defaultOnDeploy?: string;
  readonly parse: SettingParser<T>;
  readonly help: string;
  /** Never shown, not even in an error about it; can also be read from the file that `<env>_FILE` names. */
  readonly secret?: true;
}

/** Bytes in a mebibyte. */
export const mebibyte = 1_048_576;
export const day = 86_400;
/** Seconds in a year of 365 days. */
export const year = 31_536_000;

/** A setting that always has a value. */
export function required<T>(setting: Omit<Setting<T>, "default"> & { default: string }): Setting<T> & {
  default: string;
} {
  return setting;
}

/** A setting that may be absent. */
export function optional<T>(setting: Omit<Setting<T>, "default">): Setting<T> & { default?: never } {
  return setting;
}

/** The settings of one part, by the name that it knows them by. */
export type SettingTable = Readonly<Record<string, Setting<unknown>>>;

type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** What a table gives once parsed: settings with a default are always there. */
export type ValuesOf<Table> =
  & { readonly [Name in keyof Table as Table[Name] extends { default: string } ? Name : never]: ValueOf<Table[Name]> }
  & { readonly [Name in keyof Table as Table[Name] extends { default: string } ? never : Name]?: ValueOf<Table[Name]> };

/** What a setting accepts: what its parser says of a lone bracket, which hardly any takes. Empty for any text. */
export function acceptedText({ parse }: Setting<unknown>): string {
  const outcome = parse("(");
  return outcome.ok ? "" : outcome.error.replace(/^(must (be )?|is too weak; )/, "");
}
