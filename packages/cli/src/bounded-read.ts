/** What a stream brings until its end; undefined, and no more is read, when that is longer than `maxBytes`. */
export async function readToEnd(stream: AsyncIterable<unknown>, maxBytes: number): Promise<Uint8Array | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const part = chunk as Buffer;
    bytes += part.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(part);
  }
  return Buffer.concat(chunks);
}
