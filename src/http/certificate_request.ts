/** A certificate signing request for one DNS name (PKCS #10, RFC 2986), signed with a new P-256 key. */

const ecdsa = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** A new key pair of the kind that ES256 (RFC 7518 §3.4) and the request below take. */
export function generateP256(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(ecdsa, true, ["sign", "verify"]);
}

/** Signs; the signature is `r` and `s`, 32 bytes each (RFC 7518 §3.4). */
export async function signP256(key: CryptoKey, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.sign(ecdsa, key, bytes));
}

/** The request as DER, and its private key as PEM (RFC 5958). */
export async function createCertificateRequest(
  name: string,
): Promise<{ readonly request: Uint8Array<ArrayBuffer>; readonly privateKey: string }> {
  const { publicKey, privateKey } = await generateP256();
  const names = sequence(der(contextPrimitive2, new TextEncoder().encode(name))); // RFC 5280 §4.2.1.6: dNSName
  const extensions = sequence(sequence(oid(subjectAltName), der(octetString, names)));
  const info = sequence(
    der(integer, Uint8Array.of(0)), // version 1
    sequence(), // no subject: the name is in the extension
    new Uint8Array(await crypto.subtle.exportKey("spki", publicKey)),
    der(contextConstructed0, sequence(oid(extensionRequest), der(set, extensions))),
  );
  const signature = await signP256(privateKey, info);
  const numbers = sequence(positive(signature.subarray(0, 32)), positive(signature.subarray(32))); // RFC 3279 §2.2.3
  const request = sequence(info, sequence(oid(ecdsaWithSha256)), der(bitString, Uint8Array.of(0), numbers));
  const pkcs8 = new Uint8Array(await crypto.subtle.exportKey("pkcs8", privateKey)).toBase64();
  return { request, privateKey: `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n` };
}

// DER (ITU-T X.690): tag, length, content.

const [integer, bitString, octetString, objectIdentifier] = [0x02, 0x03, 0x04, 0x06];
const [sequenceTag, set, contextConstructed0, contextPrimitive2] = [0x30, 0x31, 0xa0, 0x82];

const extensionRequest = "2a864886f70d01090e"; // 1.2.840.113549.1.9.14
const subjectAltName = "551d11"; // 2.5.29.17
const ecdsaWithSha256 = "2a8648ce3d040302"; // 1.2.840.10045.4.3.2

function der(tag: number, ...contents: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const content = contents.flatMap((each) => [...each]);
  const { length } = content;
  const lengthBytes = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Uint8Array.of(tag, ...lengthBytes, ...content);
}

function sequence(...contents: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return der(sequenceTag, ...contents);
}

function oid(hex: string): Uint8Array<ArrayBuffer> {
  return der(objectIdentifier, Uint8Array.fromHex(hex));
}

/** X.690 §8.3: as few bytes as hold it, the first bit free for the sign. */
function positive(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = bytes.subarray(first);
  return (digits[0] ?? 0) < 0x80 ? der(integer, digits) : der(integer, Uint8Array.of(0), digits);
}
