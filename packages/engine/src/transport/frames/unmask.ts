/** From this length on, the payload is unmasked in words of four bytes: creating the view costs more for shorter ones. */
const MIN_BYTES_FOR_WORDS = 128;
const WORD = 4;

/**
 * Unmasks `bytes[start, end)` in place: XOR with the four bytes of the mask in turn, RFC 6455, section 5.3. A second call with the same arguments restores the
 * bytes.
 *
 * @param mask Holds the mask at `maskAt`.
 * @param phase How many bytes of the same payload came before.
 */
export function unmask(
  bytes: Buffer,
  start: number,
  end: number,
  mask: Uint8Array,
  maskAt: number,
  phase: number,
): void {
  const a = mask[maskAt + (phase & 3)] as number;
  const b = mask[maskAt + ((phase + 1) & 3)] as number;
  const c = mask[maskAt + ((phase + 2) & 3)] as number;
  const d = mask[maskAt + ((phase + 3) & 3)] as number;
  let at = start;
  if (end - start >= MIN_BYTES_FOR_WORDS) {
    const misaligned = (bytes.byteOffset + start) & 3;
    if (misaligned !== 0) {
      at = start + WORD - misaligned;
      unmask(bytes, start, at, mask, maskAt, phase);
      unmask(bytes, at, end, mask, maskAt, phase + at - start);
      return;
    }
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset + at, (end - at) >> 2);
    // By a view, so that the order of bytes is that of the machine.
    const word = new Uint32Array(Uint8Array.of(a, b, c, d).buffer)[0] as number;
    for (let index = 0; index < words.length; index++) words[index] = (words[index] as number) ^ word;
    at += words.length * WORD;
  }
  for (const wholeEnd = at + ((end - at) & ~3); at < wholeEnd; at += WORD) {
    bytes[at] = (bytes[at] as number) ^ a;
    bytes[at + 1] = (bytes[at + 1] as number) ^ b;
    bytes[at + 2] = (bytes[at + 2] as number) ^ c;
    bytes[at + 3] = (bytes[at + 3] as number) ^ d;
  }
  if (at < end) bytes[at] = (bytes[at] as number) ^ a;
  if (at + 1 < end) bytes[at + 1] = (bytes[at + 1] as number) ^ b;
  if (at + 2 < end) bytes[at + 2] = (bytes[at + 2] as number) ^ c;
}
