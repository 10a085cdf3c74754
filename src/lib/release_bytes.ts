/** Smaller buffers are the collector's own affair. */
const smallBytes = 65_536;

/**
 * Gives the memory of a large buffer back at once, where all of it is the caller's and nothing reads it any more: V8's
 * collector lets a hundred megabytes of such buffers gather before it looks. The bytes are gone then: its length is 0.
 */
export function releaseBytes({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < smallBytes || byteLength < buffer.byteLength || !(buffer instanceof ArrayBuffer)) return;
  buffer.transfer(0);
}
