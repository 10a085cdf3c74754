/** The files that https is served with, read while the program may still read anything. */
import { faultWords } from "../../lib/system_fault.ts";
import type { Result } from "../../lib/result.ts";
import type { ConfigProblem } from "./problem.ts";
import { parseCertificates, parsePrivateKey, type SettingParser } from "../../lib/parsers.ts";

/** What https is served with, as PEM. */
export interface TlsConfig {
  readonly certificates: string;
  readonly privateKey: string;
  /** Where both were read from. */
  readonly files: readonly string[];
}

/** Where it lies, and the address that has to agree with it. */
interface TlsSources {
  readonly certificateFile: string | undefined;
  readonly keyFile: string | undefined;
  readonly serverUrl: string | undefined;
  readonly readFile: (path: string) => string;
}

/** Both files or none. Adds to `problems`, in which no content of a file appears. */
export function completeTls(sources: TlsSources, problems: ConfigProblem[]): TlsConfig | null {
  const { certificateFile, keyFile, serverUrl, readFile } = sources;
  if (certificateFile === undefined && keyFile === undefined) return null;
  const read = (field: string, path: string | undefined, parse: SettingParser<string>): string => {
    if (path === undefined) {
      problems.push({ field, value: "(not set)", hint: "must be set together with the other file of TLS" });
      return "";
    }
    const content = contentOf(path, parse, readFile);
    if (content.ok) return content.value;
    problems.push({ field, value: JSON.stringify(path), hint: content.error });
    return "";
  };
  if (serverUrl?.startsWith("http:")) {
    problems.push({
      field: "SERVER_URL",
      value: JSON.stringify(serverUrl),
      hint: "must be https when TLS_CERT_FILE is set: the server then answers nothing else",
    });
  }
  const certificates = read("TLS_CERT_FILE", certificateFile, parseCertificates);
  const privateKey = read("TLS_KEY_FILE", keyFile, parsePrivateKey);
  return { certificates, privateKey, files: [certificateFile ?? "", keyFile ?? ""] };
}

function contentOf(
  path: string,
  parse: SettingParser<string>,
  readFile: (path: string) => string,
): Result<string, string> {
  try {
    return parse(readFile(path));
  } catch (error) {
    return { ok: false, error: `names a file that cannot be read: ${faultWords(error)}` };
  }
}
