import type { RouteSettings } from "../routing/route-settings.ts";
import { isSchema, propertiesOf, propertyOf, textIn } from "./json-schema.ts";

/** Media types with their schemas. */
export type Content = Readonly<Record<string, { readonly schema: unknown }>>;

const READ_TYPES = ["application/json", "application/x-www-form-urlencoded", "text/plain"];
const STREAMED_TYPES = ["multipart/form-data", "application/octet-stream"];
const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/i;

/**
 * Returns the media types and schemas of a route's request body. If the route does not stream every body, they follow
 * from the properties of the function's `request_format`:
 * - `files`: a multipart form;
 * - `body`: its `contentMediaType`, otherwise text for a string and JSON for any other type;
 * - `request_body` without `body`: bytes;
 * - none of them: every type that the route accepts.
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
 * Returns the media type and schema of a route's response body, from the function's `response_format`. The format
 * describes either the body or the response object `{status_code?, headers?, body?}`. The type is JSON, unless the body
 * has a `contentMediaType` (e.g. `text/event-stream`) or the `headers` of the object have a `content-type`. Without a
 * format, any type is possible.
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
