import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { findJsonFault, type JsonFault, MAX_DEPTH, nestsDeeperThan } from "@svc/protocol";
import type { Clock } from "../../../kernel/clock.ts";
import { readUrlEncoded } from "../fields.ts";
import { Refusal } from "../refusal.ts";

const READ_HERE = "application/json (and +json types), application/x-www-form-urlencoded, text/*";

/** Length that the request declares, in bytes; undefined when its body comes in chunks of unknown number. */
export function declaredLength(request: IncomingMessage): number | undefined {
  if (request.headers["transfer-encoding"] !== undefined) return undefined;
  // Node has checked that it is one number.
  return Number(request.headers["content-length"] ?? 0);
}

/** A limit of bodies, with the setting that it comes from. */
export interface BodyLimit {
  readonly bytes: number;
  /** E.g. `body_limit_bytes of svc-http`. */
  readonly setting: string;
}

/** The limit of a route, or the module's for routes without one. */
export function limitOf(key: "body_limit_bytes" | "form_limit_bytes", ofRoute: number | undefined, ofModule: number): BodyLimit {
  return ofRoute === undefined ? { bytes: ofModule, setting: `${key} of svc-http` } : { bytes: ofRoute, setting: `${key} of the route` };
}

export interface BodyReading {
  readonly limit: BodyLimit;
  /** How long the client may take to send it. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** The whole body, or undefined when there is none. Throws 413 as soon as it is known to be over the limit, 408 when it does not come in time. */
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
      fail(new Refusal({ status: 408, code: "request_timeout", message: `the body did not arrive within ${timeoutMs} ms` }));
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

// A client that breaks off; `close` follows and says so.
function ignoreError(): void {}

export function tooLarge({ bytes, setting }: BodyLimit, what = "the body"): Refusal {
  return new Refusal({ status: 413, code: "payload_too_large", message: `${what} is over the limit of ${bytes} bytes (${setting})` });
}

/** Whether there is no body at all, as far as must be read to know. */
export async function isEmpty(request: IncomingMessage, options: Omit<BodyReading, "limit">): Promise<boolean> {
  try {
    return (await readBody(request, { ...options, limit: { bytes: 0, setting: "" } })) === undefined;
  } catch (error) {
    if (error instanceof Refusal && error.failure.code === "payload_too_large") return false;
    throw error;
  }
}

/** A body that was read, ready to stand in the payload. */
export interface BodyText {
  /** JSON text: JSON as it came, forms as an object of strings, text as a string; `null` for none. */
  readonly json: string;
  /** JSON text of a form's fields with all their values; undefined for other types. */
  readonly form?: string | undefined;
}

export const NO_BODY: BodyText = { json: "null" };

/** Reads a body as its kind says. Throws 400 when it is ill. */
export function bodyText(body: Buffer | undefined, kind: ReadKind): BodyText {
  if (body === undefined) return NO_BODY;
  if (!isUtf8(body)) {
    throw new Refusal({ status: 400, code: kind === "json" ? "invalid_json" : "invalid_request", message: "the body is not valid UTF-8" });
  }
  const text = body.toString("utf8");
  if (kind === "json") return { json: checkedJson(text) };
  if (kind === "text") return { json: JSON.stringify(text) };
  const form = readUrlEncoded(text);
  if ("problem" in form) throw new Refusal({ status: 400, code: "invalid_request", message: `the form ${form.problem}` });
  return { json: JSON.stringify(form.single), form: JSON.stringify(form.all) };
}

function checkedJson(text: string): string {
  const json = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  try {
    // Only to know that it is JSON: the text itself goes on, which saves writing it anew.
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
    throw new Refusal({ status: 400, code: "invalid_json", message: `the body is nested deeper than ${MAX_DEPTH} levels` });
  }
  return json;
}

/** Kinds that are read whole. */
export type ReadKind = "json" | "form" | "text";
/** `raw` and `multipart` reach the function over channels. */
export type BodyKind = ReadKind | "multipart" | "raw";

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)"?/i;

/** The content type of a body that is there. Throws 415 when it names none. */
export function contentTypeOf(headers: Readonly<Record<string, string[]>>): string {
  const types = headers["content-type"] ?? [];
  if (types.length > 1) throw new Refusal({ status: 400, code: "invalid_request", message: "the request has more than one Content-Type" });
  // A page of another site may send an untyped body without asking first; one that names JSON may not.
  const [type] = types;
  if (type === undefined) throw untyped();
  return type;
}

export function untyped(): Refusal {
  return unsupported(
    `the body has no Content-Type; name one: ${READ_HERE} and multipart/form-data are read, any other (such as application/octet-stream) streams to the function`,
  );
}

/** How a body that is there is to be read. Throws 415 for what is not understood here. */
export function bodyKindOf(headers: Readonly<Record<string, string[]>>): BodyKind {
  const type = contentTypeOf(headers);
  const essence = (type.split(";", 1)[0] ?? "").trim().toLowerCase();
  const kind = kindOfType(essence);
  if (kind === "raw") return kind;
  // Inflating would let a few bytes become many; bodies that are streamed are handed on as they are.
  const encoding = headers["content-encoding"]?.join(", ") ?? "identity";
  if (encoding.toLowerCase() !== "identity") {
    throw unsupported(`the content encoding ${JSON.stringify(encoding.slice(0, 100))} is not understood; send the body uncompressed`);
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

/** Refuses a type that only a channel could carry, where the route has none. */
export function refuseUnread(headers: Readonly<Record<string, string[]>>): Refusal {
  const type = headers["content-type"]?.[0] ?? "";
  return unsupported(
    `the content type ${JSON.stringify(type.slice(0, 100))} is not understood by this route, which has streaming: false; read here are ${READ_HERE}`,
  );
}

function unsupported(message: string): Refusal {
  return new Refusal({ status: 415, code: "unsupported_media_type", message });
}
