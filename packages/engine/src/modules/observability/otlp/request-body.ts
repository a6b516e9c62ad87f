import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";

/** One body, as it comes and unpacked. */
const MAX_BYTES = 16 * 1024 * 1024;
/** An honest body packs to no less than this part of itself, once it is more than a little (K13). */
const MAX_RATIO = 200;
const FREE_BYTES = 1024 * 1024;

/** Why a body is not read. */
export class BodyError extends Error {
  readonly status: 400 | 413 | 415;

  constructor(status: 400 | 413 | 415, message: string) {
    super(message);
    this.name = "BodyError";
    this.status = status;
  }
}

/** The whole body, unpacked. Rejects with BodyError for what is too large, packed otherwise than by gzip, or no gzip. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > MAX_BYTES) throw tooLarge();
  const packing = (request.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (packing === "identity" || packing === "") return collect(request, () => MAX_BYTES);
  if (packing !== "gzip") throw new BodyError(415, `the content encoding must be gzip or none`);
  let packed = 0;
  request.on("data", (chunk: Buffer) => {
    packed += chunk.length;
  });
  const unpacked = request.pipe(createGunzip());
  request.once("aborted", () => unpacked.destroy(new Error("the request broke off")));
  try {
    return await collect(unpacked, () => Math.min(MAX_BYTES, FREE_BYTES + packed * MAX_RATIO));
  } finally {
    request.unpipe(unpacked);
    unpacked.destroy();
  }
}

/** `limit` is asked for each piece: what may come grows with what came in. */
function collect(stream: Readable, limit: () => number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const fail = (error: BodyError): void => {
      stream.off("data", onData);
      stream.pause();
      reject(error);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > limit()) fail(tooLarge());
      else chunks.push(chunk);
    };
    stream.on("data", onData);
    stream.once("end", () => resolve(Buffer.concat(chunks, bytes)));
    stream.once("error", () => fail(new BodyError(400, "the body could not be read: it is no gzip, or broke off")));
    stream.once("close", () => fail(new BodyError(400, "the request broke off")));
  });
}

function tooLarge(): BodyError {
  return new BodyError(413, `the body is over ${MAX_BYTES} bytes, or unpacks to more than it should`);
}
