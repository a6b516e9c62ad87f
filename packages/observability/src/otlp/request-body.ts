import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";

/** Maximum size of one body, both compressed and uncompressed, in bytes. */
const MAX_BYTES = 16 * 1024 * 1024;
/**
 * Maximum compression ratio of bodies above `FREE_BYTES`. Valid telemetry never compresses better, so a higher ratio
 * means an attack.
 */
const MAX_RATIO = 200;
const FREE_BYTES = 1024 * 1024;

/** A body that cannot be read, with the HTTP status of the response. */
export class BodyError extends Error {
  readonly status: 400 | 413 | 415;

  constructor(status: 400 | 413 | 415, message: string) {
    super(message);
    this.name = "BodyError";
    this.status = status;
  }
}

/** Returns the whole body, uncompressed. Rejects with BodyError if it is too large or cannot be decoded. */
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
  request.once("aborted", () => unpacked.destroy(new Error("the request was aborted")));
  try {
    return await collect(unpacked, () => Math.min(MAX_BYTES, FREE_BYTES + packed * MAX_RATIO));
  } finally {
    request.unpipe(unpacked);
    unpacked.destroy();
  }
}

/**
 * Collects the chunks of a stream. `limit` is called for each chunk, because the limit depends on the compressed bytes
 * that were received so far.
 */
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
    stream.once("error", () =>
      fail(new BodyError(400, "the body could not be read: it is not valid gzip, or it is incomplete")),
    );
    stream.once("close", () => fail(new BodyError(400, "the request was aborted")));
  });
}

function tooLarge(): BodyError {
  return new BodyError(413, `the body is larger than ${MAX_BYTES} bytes, or its compression ratio is too high`);
}
