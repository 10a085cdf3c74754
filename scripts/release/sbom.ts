/** The software bill of materials (CycloneDX 1.6): Deno, and every npm package that deno.lock pins. */
import { Buffer } from "node:buffer";
import type { LicensedPackage } from "./notices.ts";

interface LockFile {
  readonly npm: Readonly<Record<string, { readonly integrity: string }>>;
}

interface Component {
  readonly type: "library" | "platform";
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly { readonly license: { readonly id: string } }[];
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
}

/** The document; it names no time and no random number, so that it can be made again. */
export function billOfMaterials(
  options: {
    readonly version: string;
    readonly denoVersion: string;
    readonly lockFile: string;
    readonly packages: readonly LicensedPackage[];
  },
): Readonly<Record<string, unknown>> {
  const { version, denoVersion, lockFile } = options;
  const { npm } = JSON.parse(lockFile) as LockFile;
  const product = `pkg:generic/portcullis@${version}`;
  const licenseOf = new Map(options.packages.map(({ name, version, license }) => [`${name}@${version}`, license]));
  const packages = Object.entries(npm).map(([id, { integrity }]) => packageComponent(id, integrity, licenseOf));
  const denoPurl = `pkg:github/denoland/deno@v${denoVersion}`;
  const deno: Component = {
    type: "platform",
    "bom-ref": denoPurl,
    name: "deno",
    version: denoVersion,
    purl: denoPurl,
    licenses: [{ license: { id: "MIT" } }],
  };
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": product,
        name: "portcullis",
        version,
        purl: product,
        licenses: [{ license: { id: "MIT" } }],
      },
    },
    components: [deno, ...packages],
    dependencies: [{ ref: product, dependsOn: [deno["bom-ref"], ...packages.map((each) => each["bom-ref"])] }],
  };
}

/** `@scope/name@version`, with peers after an underscore where the lock file tells versions of one package apart. */
function packageComponent(id: string, integrity: string, licenseOf: ReadonlyMap<string, string>): Component {
  const at = id.indexOf("@", 1);
  const name = id.slice(0, at);
  const version = id.slice(at + 1).split("_", 1)[0] ?? "";
  const purl = `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;
  const [algorithm = "", digest = ""] = integrity.split(/-(.*)/s);
  const license = licenseOf.get(`${name}@${version}`);
  if (license === undefined) throw new TypeError(`${id} has no licence`);
  if (algorithm !== "sha512") throw new TypeError(`${id} is pinned by ${algorithm}, not by sha512`);
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    purl,
    licenses: [{ license: { id: license } }],
    hashes: [{ alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") }],
  };
}
