import type { IncomingMessage } from "node:http";
import { CallError } from "@svc-runtime/protocol";
import type { z } from "zod/mini";
import type { HttpTestResult, httpTestSchema } from "../contract/api.ts";
import { type EngineHttp, toEngine, unreachable } from "./engine-http.ts";

/** Maximum size of a response's body, in bytes. The rest is dropped. */
export const MAX_ANSWER_BYTES = 5 * 1024 * 1024;
const DEFAULT_TIMEOUT_MS = 30_000;
/** Headers that users may not set, because they belong to the connection or to the console. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-svc-console",
]);

/**
 * Sends a request to the engine's public HTTP port and returns the response. Does not follow redirects. Rejects with
 * CallError: `invalid_input`, `call_timeout` if the response is not complete in time, `call_cancelled`, `disconnected`.
 */
export async function sendHttpTest(
  asked: z.infer<typeof httpTestSchema>,
  engine: EngineHttp,
  signal: AbortSignal,
): Promise<HttpTestResult> {
  const timeoutMs = asked.timeout_ms ?? DEFAULT_TIMEOUT_MS;
  const startedMs = performance.now();
  const request = begin(asked, engine);
  const onAbort = (): void => {
    request.destroy(new CallError("call_cancelled", "the request was cancelled"));
  };
  const deadline = setTimeout(
    () => request.destroy(new CallError("call_timeout", `no complete response within ${timeoutMs} ms`)),
    timeoutMs,
  );
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request.once("response", resolve);
      request.on("error", reject);
      request.end(asked.body);
    });
    const { body, bytes, truncated } = await readAnswer(answer, request);
    return {
      status: answer.statusCode ?? 0,
      status_text: answer.statusMessage ?? "",
      duration_ms: performance.now() - startedMs,
      bytes,
      headers: pairs(answer.rawHeaders),
      body: textOrBase64(body, truncated),
      truncated,
    };
  } catch (error) {
    if (CallError.is(error)) throw error;
    throw new CallError("disconnected", unreachable(engine, error as NodeJS.ErrnoException), { cause: error });
  } finally {
    clearTimeout(deadline);
    signal.removeEventListener("abort", onAbort);
    request.destroy();
  }
}

function begin(
  { method, path, headers }: z.infer<typeof httpTestSchema>,
  engine: EngineHttp,
): ReturnType<typeof toEngine> {
  const grouped = new Map<string, string[]>([["x-svc-console", ["1"]]]);
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    if (RESERVED_HEADERS.has(key))
      throw new CallError("invalid_input", `the header ${name} is set by the console itself`);
    grouped.set(key, [...(grouped.get(key) ?? []), value]);
  }
  try {
    return toEngine(engine, { method, path, headers: Object.fromEntries(grouped) });
  } catch (cause) {
    throw new CallError("invalid_input", `the request cannot be sent: ${(cause as Error).message}`, { cause });
  }
}

async function readAnswer(
  answer: IncomingMessage,
  request: ReturnType<typeof toEngine>,
): Promise<{ readonly body: Buffer; readonly bytes: number; readonly truncated: boolean }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The error is stored, because the response stream does not report the error that destroyed the request.
  let cause: unknown;
  request.on("error", (error) => {
    cause ??= error;
  });
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) {
        const whole = Number(answer.headers["content-length"] ?? bytes);
        return { body: Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES), bytes: whole, truncated: true };
      }
    }
  } catch (error) {
    throw cause ?? request.errored ?? error;
  }
  return { body: Buffer.concat(chunks), bytes, truncated: false };
}

function pairs(raw: readonly string[]): (readonly [string, string])[] {
  const found: (readonly [string, string])[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) found.push([raw[at] as string, raw[at + 1] as string]);
  return found;
}

function textOrBase64(body: Buffer, truncated: boolean): HttpTestResult["body"] {
  try {
    // With `stream`, an incomplete last character of a truncated body is not an error.
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body, { stream: truncated }) };
  } catch {
    return { base64: body.toString("base64") };
  }
}
