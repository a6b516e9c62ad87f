import type { RouteSettings } from "../routing/route-settings.ts";
import { isSchema, propertiesOf, propertyOf, textIn } from "./json-schema.ts";

/** Media types with their schemas. */
export type Content = Readonly<Record<string, { readonly schema: unknown }>>;

const READ_TYPES = ["application/json", "application/x-www-form-urlencoded", "text/plain"];
const STREAMED_TYPES = ["multipart/form-data", "application/octet-stream"];
const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/i;

/**
 * Returns the request bodies of a route, from its config and the function's `request_format`: `files` means a multipart
 * form, `request_body` without `body` means bytes, a `body` of type string means text, any other `body` JSON. Without
 * such members: every type that is read.
 */
export function requestContent(format: unknown, settings: Pick<RouteSettings, "streamsBody" | "streaming">): Content {
  if (settings.streamsBody) return { "*/*": { schema: {} } };
  const body = propertyOf(format, "body");
  if (propertyOf(format, "files") !== undefined)
    return { "multipart/form-data": { schema: body ?? { type: "object" } } };
  if (body !== undefined)
    return {
      [mediaTypeOf(body) ?? (textIn(body, "type") === "string" ? "text/plain" : "application/json")]: { schema: body },
    };
  if (propertyOf(format, "request_body") !== undefined) return { "application/octet-stream": { schema: {} } };
  const types = settings.streaming ? [...READ_TYPES, ...STREAMED_TYPES] : READ_TYPES;
  return Object.fromEntries(types.map((type) => [type, { schema: {} }]));
}

/**
 * Returns the response bodies of a route, from the function's `response_format`, which describes the body or the
 * response object. A type other than JSON is named by the body's `contentMediaType`, e.g. `text/event-stream`, or by
 * `content-type` in the object's `headers`. Without a format: any type.
 */
export function responseContent(format: unknown): Content {
  if (!isSchema(format)) return { "*/*": { schema: {} } };
  const properties = propertiesOf(format);
  const names = Object.keys(properties);
  const isResponse =
    names.length > 0 && names.every((name) => name === "body" || name === "status_code" || name === "headers");
  const body = isResponse ? (properties.body ?? {}) : format;
  return {
    [(isResponse ? contentTypeIn(properties.headers) : undefined) ?? mediaTypeOf(body) ?? "application/json"]: {
      schema: body,
    },
  };
}

function contentTypeIn(headers: unknown): string | undefined {
  for (const [name, schema] of Object.entries(propertiesOf(headers))) {
    if (name.toLowerCase() === "content-type") return essenceOf(textIn(schema, "const") ?? textIn(schema, "default"));
  }
  return undefined;
}

function mediaTypeOf(schema: unknown): string | undefined {
  return essenceOf(textIn(schema, "contentMediaType"));
}

function essenceOf(type: string | undefined): string | undefined {
  const essence = type?.split(";", 1)[0]?.trim().toLowerCase();
  return essence !== undefined && MEDIA_TYPE.test(essence) ? essence : undefined;
}
