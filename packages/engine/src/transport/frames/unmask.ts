const WORD = 4;
/** From this length on, creating a separate view is worth its cost, because the loop over it needs no bounds checks. */
const MIN_BYTES_FOR_OWN_VIEW = 2048;

/**
 * Returns the ArrayBuffer of `bytes` as an array of words of four bytes, for `unmask`. To be created once per chunk,
 * because creating it costs more than unmasking a short frame.
 */
export function wordsBelow(bytes: Buffer): Uint32Array {
  return new Uint32Array(bytes.buffer, 0, bytes.buffer.byteLength >> 2);
}

/**
 * Unmasks `bytes[start, end)` in place: XOR with the four bytes of the mask in turn (RFC 6455, section 5.3). A second
 * call with the same arguments restores the bytes.
 *
 * @param words `wordsBelow(bytes)`.
 * @param mask Contains the four bytes of the mask from index `maskAt`.
 * @param phase Number of bytes of the same payload before `start`.
 */
export function unmask(
  bytes: Buffer,
  words: Uint32Array,
  start: number,
  end: number,
  mask: Uint8Array,
  maskAt: number,
  phase: number,
): void {
  const toWord = -(bytes.byteOffset + start) & (WORD - 1);
  const wordsStart = Math.min(end, start + toWord);
  for (let at = start; at < wordsStart; at++) xor(bytes, at, mask, maskAt, phase + at - start);
  const wordsEnd = wordsStart + ((end - wordsStart) & -WORD);
  if (wordsStart < wordsEnd) {
    const word = maskWord(mask, maskAt, phase + wordsStart - start);
    const first = (bytes.byteOffset + wordsStart) / WORD;
    const count = (wordsEnd - wordsStart) / WORD;
    if (wordsEnd - wordsStart < MIN_BYTES_FOR_OWN_VIEW) {
      for (let index = first; index < first + count; index++) words[index] = (words[index] as number) ^ word;
    } else {
      const view = words.subarray(first, first + count);
      for (let index = 0; index < view.length; index++) view[index] = (view[index] as number) ^ word;
    }
  }
  for (let at = wordsEnd; at < end; at++) xor(bytes, at, mask, maskAt, phase + at - start);
}

function xor(bytes: Buffer, at: number, mask: Uint8Array, maskAt: number, phase: number): void {
  bytes[at] = (bytes[at] as number) ^ (mask[maskAt + (phase & 3)] as number);
}

const IS_LITTLE_ENDIAN = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/** Returns the mask, rotated by `phase`, as a word in the byte order of this machine. */
function maskWord(mask: Uint8Array, maskAt: number, phase: number): number {
  const a = mask[maskAt + (phase & 3)] as number;
  const b = mask[maskAt + ((phase + 1) & 3)] as number;
  const c = mask[maskAt + ((phase + 2) & 3)] as number;
  const d = mask[maskAt + ((phase + 3) & 3)] as number;
  return IS_LITTLE_ENDIAN ? a | (b << 8) | (c << 16) | (d << 24) : (a << 24) | (b << 16) | (c << 8) | d;
}
