import { randomBytes } from "node:crypto";

/** A frame as a client sends it. `first`: the byte with the final bit and the opcode. RFC 6455, section 5.2. */
export function clientFrame(
  first: number,
  payload: Buffer,
  { isMasked = true }: { readonly isMasked?: boolean } = {},
): Buffer {
  const isLong = payload.length > 65_535;
  const header = Buffer.alloc(isLong ? 10 : payload.length > 125 ? 4 : 2);
  header[0] = first;
  header[1] = (isMasked ? 0x80 : 0) | (isLong ? 127 : payload.length > 125 ? 126 : payload.length);
  if (isLong) header.writeBigUInt64BE(BigInt(payload.length), 2);
  else if (payload.length > 125) header.writeUInt16BE(payload.length, 2);
  if (!isMasked) return Buffer.concat([header, payload]);
  const mask = randomBytes(4);
  return Buffer.concat([header, mask, payload.map((byte, at) => byte ^ (mask[at % 4] as number))]);
}
