/** The settings that have a value, each with what it is and where it comes from, for the owner to see. */
import type { Setting } from "../../lib/setting.ts";
import { type ConfigSources, findSetting, type FoundSetting, shownText } from "./find_setting.ts";
import { settingSections } from "./settings.ts";

export interface SettingInForce {
  readonly heading: string;
  readonly name: string;
  /** "set" for a secret. */
  readonly value: string;
  readonly source: string;
}

export function settingsInForce(sources: ConfigSources): readonly SettingInForce[] {
  return settingSections.flatMap(([heading, table]) =>
    Object.values(table).flatMap((setting) => {
      const found = findSetting(setting, { ...sources, readFile: () => "" }, []); // a secret's text is not shown
      return found === undefined
        ? []
        : [{ heading, name: setting.env, value: settingText(setting, found), source: found.source }];
    })
  );
}

/** A value as people may see it. */
export function settingText(setting: Setting<unknown>, { text }: FoundSetting): string {
  return setting.secret ? "set" : shownText(setting, text).slice(1, -1);
}
