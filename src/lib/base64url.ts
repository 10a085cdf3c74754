/** Bytes as base64url text without padding (RFC 4648 §5). */
export function toBase64Url(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}
