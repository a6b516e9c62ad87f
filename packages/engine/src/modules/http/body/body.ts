import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { findJsonFault, type JsonFault, MAX_DEPTH, nestsDeeperThan } from "@svc-runtime/protocol";
import type { Clock } from "../../../kernel/clock.ts";
import { readUrlEncoded } from "../fields.ts";
import { Refusal } from "../refusal.ts";

const READ_HERE = "application/json (and +json types), application/x-www-form-urlencoded, text/*";

/** Returns the declared length, in bytes; undefined for a chunked body. */
export function declaredLength(request: IncomingMessage): number | undefined {
  if (request.headers["transfer-encoding"] !== undefined) return undefined;
  // Node has validated that it is one number.
  return Number(request.headers["content-length"] ?? 0);
}

/** A size limit of bodies, with the name of its setting. */
export interface BodyLimit {
  readonly bytes: number;
  /** E.g. `body_limit_bytes of svc-http`. */
  readonly setting: string;
}

/** Returns the limit of a route, or the module's if the route sets none. */
export function limitOf(
  key: "body_limit_bytes" | "form_limit_bytes",
  ofRoute: number | undefined,
  ofModule: number,
): BodyLimit {
  return ofRoute === undefined
    ? { bytes: ofModule, setting: `${key} of svc-http` }
    : { bytes: ofRoute, setting: `${key} of the route` };
}

export interface BodyReading {
  readonly limit: BodyLimit;
  /** Time limit for receiving the body, in milliseconds. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/**
 * Reads the whole body; undefined if there is none. Throws 413 as soon as it exceeds the limit, and 408 if it does not
 * arrive in time.
 */
export async function readBody(request: IncomingMessage, options: BodyReading): Promise<Buffer | undefined> {
  const length = declaredLength(request);
  if (length === 0) return undefined;
  if (length !== undefined && length > options.limit.bytes) throw tooLarge(options.limit);
  const body = await collect(request, options);
  return body.byteLength === 0 ? undefined : body;
}

function collect(request: IncomingMessage, { limit, timeoutMs, clock }: BodyReading): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const cancelTimer = clock.after(timeoutMs, () => {
      fail(
        new Refusal({
          status: 408,
          code: "request_timeout",
          message: `the body did not arrive within ${timeoutMs} ms`,
        }),
      );
    });

    function onData(chunk: Buffer): void {
      bytes += chunk.byteLength;
      if (bytes > limit.bytes) fail(tooLarge(limit));
      else chunks.push(chunk);
    }
    function onEnd(): void {
      cleanUp();
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes));
    }
    function onClose(): void {
      fail(new Refusal({ status: 400, code: "invalid_request", message: "the body ended before it was complete" }));
    }
    function fail(reason: Refusal): void {
      cleanUp();
      reject(reason);
    }
    function cleanUp(): void {
      cancelTimer();
      request.off("data", onData).off("close", onClose);
    }
    request.on("data", onData).on("end", onEnd).on("close", onClose).on("error", ignoreError);
  });
}

// The client disconnected. The `close` event follows and reports it.
function ignoreError(): void {}

export function tooLarge({ bytes, setting }: BodyLimit, what = "the body"): Refusal {
  return new Refusal({
    status: 413,
    code: "payload_too_large",
    message: `${what} is over the limit of ${bytes} bytes (${setting})`,
  });
}

/** Returns whether there is no body; reads only as much as necessary. */
export async function isEmpty(request: IncomingMessage, options: Omit<BodyReading, "limit">): Promise<boolean> {
  try {
    return (await readBody(request, { ...options, limit: { bytes: 0, setting: "" } })) === undefined;
  } catch (error) {
    if (error instanceof Refusal && error.failure.code === "payload_too_large") return false;
    throw error;
  }
}

/** A body that was read, as JSON for the payload. */
export interface BodyText {
  /** JSON text: JSON unchanged, a form as an object of strings, text as a string; `null` if there is no body. */
  readonly json: string;
  /** JSON text of a form's fields with all their values; undefined for other types. */
  readonly form?: string | undefined;
}

export const NO_BODY: BodyText = { json: "null" };

/** Parses a body of this kind. Throws 400 if it is malformed. */
export function bodyText(body: Buffer | undefined, kind: ReadKind): BodyText {
  if (body === undefined) return NO_BODY;
  if (!isUtf8(body)) {
    throw new Refusal({
      status: 400,
      code: kind === "json" ? "invalid_json" : "invalid_request",
      message: "the body is not valid UTF-8",
    });
  }
  const text = body.toString("utf8");
  if (kind === "json") return { json: checkedJson(text) };
  if (kind === "text") return { json: JSON.stringify(text) };
  const form = readUrlEncoded(text);
  if ("problem" in form)
    throw new Refusal({ status: 400, code: "invalid_request", message: `the form ${form.problem}` });
  return { json: JSON.stringify(form.single), form: JSON.stringify(form.all) };
}

function checkedJson(text: string): string {
  const json = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  try {
    // Only validates: the original text is used, which saves serializing it again.
    JSON.parse(json);
  } catch (cause) {
    const { found, line, column, offset } = findJsonFault(json) as JsonFault;
    throw new Refusal({
      status: 400,
      code: "invalid_json",
      message: `the body is not JSON: unexpected ${found} at line ${line}, column ${column} (position ${offset})`,
      cause,
    });
  }
  if (nestsDeeperThan(json, MAX_DEPTH)) {
    throw new Refusal({
      status: 400,
      code: "invalid_json",
      message: `the body is nested deeper than ${MAX_DEPTH} levels`,
    });
  }
  return json;
}

/** Kinds that are read completely. */
export type ReadKind = "json" | "form" | "text";
/** `raw` and `multipart` reach the function over channels. */
export type BodyKind = ReadKind | "multipart" | "raw";

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)"?/i;

/** Returns the content type of an existing body. Throws 415 if there is none. */
export function contentTypeOf(headers: Readonly<Record<string, string[]>>): string {
  const types = headers["content-type"] ?? [];
  if (types.length > 1)
    throw new Refusal({ status: 400, code: "invalid_request", message: "the request has more than one Content-Type" });
  // A page of another site can send an untyped body without a preflight, but not one with a JSON type.
  const [type] = types;
  if (type === undefined) throw untyped();
  return type;
}

export function untyped(): Refusal {
  return unsupported(
    `the body has no Content-Type; name one: ${READ_HERE} and multipart/form-data are read, any other (such as application/octet-stream) streams to the function`,
  );
}

/**
 * Returns how an existing body must be read. A form is raw if `takesRawForms` returns true; called for forms only.
 * Throws 415 for unsupported encodings and charsets.
 */
export function bodyKindOf(headers: Readonly<Record<string, string[]>>, takesRawForms: () => boolean): BodyKind {
  const type = contentTypeOf(headers);
  const essence = (type.split(";", 1)[0] ?? "").trim().toLowerCase();
  const kind = kindOfType(essence);
  if (kind === "raw" || (kind === "multipart" && takesRawForms())) return "raw";
  // Decompression would turn a few bytes into many. Streamed bodies are passed on unchanged.
  const encoding = headers["content-encoding"]?.join(", ") ?? "identity";
  if (encoding.toLowerCase() !== "identity") {
    throw unsupported(
      `the content encoding ${JSON.stringify(encoding.slice(0, 100))} is not understood; send the body uncompressed`,
    );
  }
  const charset = CHARSET.exec(type)?.[1]?.toLowerCase();
  if (charset !== undefined && charset !== "utf-8" && charset !== "utf8" && charset !== "us-ascii") {
    throw unsupported(`the charset ${JSON.stringify(charset.slice(0, 100))} is not understood; send UTF-8`);
  }
  return kind;
}

function kindOfType(essence: string): BodyKind {
  if (/[/+.-]json$/.test(essence)) return "json";
  if (essence === "application/x-www-form-urlencoded") return "form";
  if (essence === "multipart/form-data") return "multipart";
  return essence.startsWith("text/") ? "text" : "raw";
}

/** Returns the refusal for a type that needs a channel, on a route without streaming. */
export function refuseUnread(headers: Readonly<Record<string, string[]>>): Refusal {
  const type = headers["content-type"]?.[0] ?? "";
  return unsupported(
    `the content type ${JSON.stringify(type.slice(0, 100))} is not understood by this route, which has streaming: false; read here are ${READ_HERE}`,
  );
}

function unsupported(message: string): Refusal {
  return new Refusal({ status: 415, code: "unsupported_media_type", message });
}
