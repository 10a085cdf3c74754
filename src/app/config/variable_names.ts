/** The names that set something, and those of the environment that look like one of them by mistake. */
import { closestWord } from "../../lib/closest_word.ts";
import { formerSettingNames } from "./former_settings.ts";
import { settings } from "./settings.ts";

const maxNamesCompared = 1_000;
const maxNamesShown = 5;

const settingNames: readonly string[] = settings.flatMap(({ env, secret }) => secret ? [env, `${env}_FILE`] : [env]);

/** Each setting, the file of each secret, and the settings of earlier versions. */
export const variableNames: readonly string[] = [...settingNames, ...formerSettingNames];

/** A warning about names of the environment that are one or two mistakes away from a setting; `null` without any. */
export function warnOfMistypedNames(names: readonly string[]): string | null {
  const known = new Set(variableNames);
  const mistyped = names.slice(0, maxNamesCompared)
    .filter((name) => !known.has(name))
    .flatMap((name) => {
      // The first letter is seldom mistyped, and SSL_CERT_FILE and its like belong to others.
      const closest = closestWord(name, settingNames.filter((each) => each[0] === name[0]));
      return closest === null ? [] : [[name, closest] as const];
    });
  if (mistyped.length === 0) return null;
  const shown = mistyped.slice(0, maxNamesShown)
    .map(([name, closest]) => `warning: ${name} is not a setting; did you mean ${closest}?\n`);
  const more = mistyped.length - shown.length;
  return shown.join("") + (more > 0 ? `warning: ${more} more variables are nearly settings\n` : "");
}
