import { Refusal } from "../refusal.ts";

const READ_HERE = "application/json (and +json types), application/x-www-form-urlencoded, text/*";

/** Kinds of body that the engine reads completely before it calls the function. */
export type ReadKind = "json" | "form" | "text";
/**
 * How a body reaches the function: a `raw` body and the files of a `multipart` form over channels, every other body in
 * the payload.
 */
export type BodyKind = ReadKind | "multipart" | "raw";

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)"?/i;

/** Returns the content type of an existing body. Throws 415 if the header is missing. */
export function contentTypeOf(headers: Readonly<Record<string, string[]>>): string {
  const types = headers["content-type"] ?? [];
  if (types.length > 1)
    throw new Refusal({ status: 400, code: "invalid_request", message: "the request has more than one Content-Type" });
  // An untyped body is refused, because a browser page of another site can send it without a CORS preflight. A body
  // with a JSON type needs a preflight.
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
 * Returns how a body that is not empty must be read. Calls `takesRawForms` only for a multipart form; if the result is
 * true, the form is `raw`. Throws 415 for unsupported encodings and charsets.
 */
export function bodyKindOf(headers: Readonly<Record<string, string[]>>, takesRawForms: () => boolean): BodyKind {
  const type = contentTypeOf(headers);
  const essence = (type.split(";", 1)[0] ?? "").trim().toLowerCase();
  const kind = kindOfType(essence);
  if (kind === "raw" || (kind === "multipart" && takesRawForms())) return "raw";
  // Compressed bodies are refused, because a few compressed bytes can expand to very many. A `raw` body may be
  // compressed, because it is streamed to the function unchanged.
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

/** Returns the refusal (415) of a body whose content type needs a channel, on a route with `streaming: false`. */
export function refuseUnread(headers: Readonly<Record<string, string[]>>): Refusal {
  const type = headers["content-type"]?.[0] ?? "";
  return unsupported(
    `the content type ${JSON.stringify(type.slice(0, 100))} is not understood by this route, which has streaming: false; read here are ${READ_HERE}`,
  );
}

function unsupported(message: string): Refusal {
  return new Refusal({ status: 415, code: "unsupported_media_type", message });
}
