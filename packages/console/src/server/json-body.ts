import type { IncomingMessage } from "node:http";
import { CallError } from "@svc-runtime/protocol";

/** Returns the body of a request as text. Throws CallError: `unsupported_media_type`, `payload_too_large`. */
export async function readJsonText(request: IncomingMessage, maxBytes: number): Promise<string> {
  requireJson(request);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new CallError("payload_too_large", `the body is over ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * Throws unless the request is JSON. This protects against pages of other sites: without a preflight request, they can
 * send forms and plain text, but not JSON.
 */
export function requireJson(request: Pick<IncomingMessage, "headers">): void {
  const mediaType = (request.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (mediaType !== "application/json")
    throw new CallError("unsupported_media_type", "send the body with Content-Type: application/json");
}

/** Parses JSON. Throws CallError `invalid_json`. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CallError("invalid_json", `the body is not JSON: ${(cause as Error).message}`, { cause });
  }
}
