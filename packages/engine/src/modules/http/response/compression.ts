import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { type HeaderList, headerValue, withHeader, withVary } from "./header-list.ts";
import type { RouteResponse } from "./route-response.ts";

const gzipAsync = promisify(gzip);
const brotliAsync = promisify(brotliCompress);

/** Minimum size of a body that is compressed, in bytes. Smaller bodies are not worth the time. */
const MIN_BYTES = 1024;
/** Quality of brotli. A higher quality takes ten times as long for little gain. */
const BROTLI_QUALITY = 4;

/** Returns true if the body may be large enough to be compressed. */
export function isLongEnough({ body }: Pick<RouteResponse, "body">): boolean {
  // A UTF-16 unit has at most 3 bytes in UTF-8.
  return body !== undefined && body.length * 3 >= MIN_BYTES;
}

const COMPRESSIBLE =
  /^(?:text\/|application\/(?:json|javascript|xml|graphql|wasm|x-ndjson|x-www-form-urlencoded)$|image\/svg\+xml$)|[+](?:json|xml|yaml|text)$/;

/**
 * Compresses the body if the client supports it and the body becomes smaller. Does not compress bodies that are encoded
 * already, responses with `no-transform`, and partial content. Streamed responses do not use this function.
 */
export async function compressed(
  routeResponse: RouteResponse,
  acceptEncoding: string | undefined,
): Promise<RouteResponse> {
  const { body, status, headers } = routeResponse;
  if (body === undefined || body.length === 0 || status === 206 || !isEligible(headers)) return routeResponse;
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  if (bytes.byteLength < MIN_BYTES) return routeResponse;
  const varying = withVary(headers, "Accept-Encoding");
  const encoding = chooseEncoding(acceptEncoding);
  if (encoding === undefined) return { ...routeResponse, headers: varying, body: bytes };
  const smaller =
    encoding === "gzip"
      ? await gzipAsync(bytes)
      : await brotliAsync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } });
  if (smaller.byteLength >= bytes.byteLength) return { ...routeResponse, headers: varying, body: bytes };
  const etag = headerValue(varying, "etag");
  // A strong ETag identifies exact bytes. Compression changes the bytes, so the tag is made weak.
  const tagged = etag?.startsWith('"') ? withHeader(varying, "ETag", `W/${etag}`) : varying;
  return { ...routeResponse, headers: [...tagged, "Content-Encoding", encoding], body: smaller };
}

function isEligible(headers: HeaderList): boolean {
  const type = (headerValue(headers, "content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return (
    COMPRESSIBLE.test(type) &&
    type !== "text/event-stream" &&
    headerValue(headers, "content-encoding") === undefined &&
    headerValue(headers, "content-range") === undefined &&
    !/(?:^|,)\s*no-transform\s*(?:,|$)/i.test(headerValue(headers, "cache-control") ?? "")
  );
}

/**
 * Returns the supported encoding that the client prefers. If the client has no preference, returns brotli, whose output
 * is smaller. Returns undefined if the client accepts none.
 */
export function chooseEncoding(acceptEncoding: string | undefined): "br" | "gzip" | undefined {
  if (acceptEncoding === undefined || acceptEncoding === "") return undefined;
  const weights = new Map<string, number>();
  for (const part of acceptEncoding.slice(0, 1000).split(",")) {
    const [name = "", ...parameters] = part.split(";").map((each) => each.trim().toLowerCase());
    const weight = parameters.find((each) => each.startsWith("q="));
    const value = weight === undefined ? 1 : Number(weight.slice(2));
    weights.set(name === "x-gzip" ? "gzip" : name, Number.isNaN(value) ? 0 : value);
  }
  const other = weights.get("*") ?? 0;
  const brotli = weights.get("br") ?? other;
  const gz = weights.get("gzip") ?? other;
  if (brotli <= 0 && gz <= 0) return undefined;
  return brotli >= gz ? "br" : "gzip";
}
