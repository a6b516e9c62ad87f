import { z } from "zod";
import { type HeaderList, withoutHeader, withVary } from "./header-list.ts";

/** The permissions of pages of other origins. */
export interface CorsSettings {
  /** True if any origin is allowed. */
  readonly anyOrigin: boolean;
  readonly origins: readonly string[];
  /** Undefined: the methods of the path. */
  readonly methods: readonly string[] | undefined;
  /** Lower case. Undefined: all requested headers. */
  readonly requestHeaders: readonly string[] | undefined;
  readonly exposedHeaders: readonly string[];
  readonly credentials: boolean;
  readonly maxAgeSeconds: number | undefined;
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/\s?#]+$/;
const MAX_ENTRIES = 100;

const originError = 'expected an origin such as https://app.example.com (no path, no trailing slash), or "*" for any';
const token = (what: string) => z.string({ error: `expected ${what}` }).regex(TOKEN, { error: `expected ${what}` });
const origin = z
  .string({ error: originError })
  .transform((text) => text.toLowerCase())
  .refine((text) => text === "*" || ORIGIN.test(text), { error: originError });

/** The setting `cors` of svc-http and of a route. */
export const corsSchema = z
  .strictObject({
    allowed_origins: z
      .array(origin)
      .min(1, { error: 'name the origins that may call, or "*" for any; without cors no page of another origin may' })
      .max(MAX_ENTRIES)
      .meta({ description: 'Origins whose pages may call, e.g. https://app.example.com; "*" is any' }),
    allowed_methods: z
      .array(token("a method"))
      .max(MAX_ENTRIES)
      .optional()
      .meta({ description: "Methods that pages may use. Default: those of the path" }),
    allowed_headers: z
      .array(token("a header name"))
      .max(MAX_ENTRIES)
      .optional()
      .meta({ description: 'Request headers that pages may send. Default, and with "*": those asked for' }),
    exposed_headers: z
      .array(token("a header name"))
      .max(MAX_ENTRIES)
      .optional()
      .meta({ description: "Response headers that pages may read. Default none" }),
    credentials: z
      .boolean()
      .optional()
      .meta({ description: 'Whether pages may send cookies. Default false; not with origin "*"' }),
    max_age: z
      .int()
      .min(0)
      .max(86_400)
      .optional()
      .meta({ description: "For how long a browser may remember the permission, in seconds" }),
  })
  .superRefine((cors, context) => {
    if (cors.credentials !== true || !cors.allowed_origins.includes("*")) return;
    context.addIssue({
      code: "custom",
      path: ["credentials"],
      message: 'cannot be true while allowed_origins holds "*": any page could act as the user',
    });
  })
  .transform(
    (cors): CorsSettings => ({
      anyOrigin: cors.allowed_origins.includes("*"),
      origins: cors.allowed_origins,
      methods:
        cors.allowed_methods === undefined || cors.allowed_methods.length === 0
          ? undefined
          : cors.allowed_methods.map((each) => each.toUpperCase()),
      requestHeaders: cors.allowed_headers?.includes("*")
        ? undefined
        : cors.allowed_headers?.map((each) => each.toLowerCase()),
      exposedHeaders: cors.exposed_headers ?? [],
      credentials: cors.credentials ?? false,
      maxAgeSeconds: cors.max_age,
    }),
  );

/** A preflight request. */
export interface Preflight {
  readonly origin: string;
  readonly method: string;
  /** Header names, lower case. */
  readonly headers: readonly string[];
}

/** Parses a preflight request; undefined if the request is not one. */
export function preflightOf(
  method: string | undefined,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Preflight | undefined {
  const { origin: from } = headers;
  const asked = headers["access-control-request-method"];
  if (method !== "OPTIONS" || typeof from !== "string" || typeof asked !== "string") return undefined;
  const names = headers["access-control-request-headers"];
  return {
    origin: from,
    method: asked,
    headers: (typeof names === "string" ? names : "").split(",").map(lowerTrimmed).filter(isToken),
  };
}

/**
 * Returns the headers of a preflight response: the permissions, or only `Vary` if it is denied. Names and values
 * alternate.
 */
export function preflightHeaders(cors: CorsSettings, preflight: Preflight, methodsOfPath: readonly string[]): string[] {
  const headers = ["Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"];
  const methods = cors.methods ?? methodsOfPath;
  const { requestHeaders } = cors;
  const isAllowed =
    originIsAllowed(cors, preflight.origin) &&
    methods.includes(preflight.method) &&
    (requestHeaders === undefined || preflight.headers.every((name) => requestHeaders.includes(name)));
  if (!isAllowed) return headers;
  headers.push(
    "Access-Control-Allow-Origin",
    cors.anyOrigin ? "*" : preflight.origin,
    "Access-Control-Allow-Methods",
    methods.join(", "),
  );
  const names = requestHeaders ?? preflight.headers;
  if (names.length > 0) headers.push("Access-Control-Allow-Headers", names.join(", "));
  if (cors.credentials) headers.push("Access-Control-Allow-Credentials", "true");
  if (cors.maxAgeSeconds !== undefined) headers.push("Access-Control-Max-Age", String(cors.maxAgeSeconds));
  return headers;
}

const PERMISSIONS = [
  "Access-Control-Allow-Origin",
  "Access-Control-Allow-Credentials",
  "Access-Control-Expose-Headers",
] as const;

/**
 * Adds CORS headers to a response. Removes the CORS headers of the function, because only the config grants
 * permissions.
 */
export function withCors(given: HeaderList, cors: CorsSettings, from: string | undefined): string[] {
  let headers = [...given];
  for (const name of PERMISSIONS) headers = withoutHeader(headers, name);
  // `Vary` is needed even if this origin gets no permission, because a cache may serve the response to another origin.
  if (!cors.anyOrigin) headers = withVary(headers, "Origin");
  if (from === undefined || !originIsAllowed(cors, from)) return headers;
  headers.push("Access-Control-Allow-Origin", cors.anyOrigin ? "*" : from);
  if (cors.credentials) headers.push("Access-Control-Allow-Credentials", "true");
  if (cors.exposedHeaders.length > 0) headers.push("Access-Control-Expose-Headers", cors.exposedHeaders.join(", "));
  return headers;
}

function originIsAllowed(cors: CorsSettings, from: string): boolean {
  return cors.anyOrigin || (from !== "null" && cors.origins.includes(from.toLowerCase()));
}

function lowerTrimmed(text: string): string {
  return text.trim().toLowerCase();
}

function isToken(text: string): boolean {
  return TOKEN.test(text);
}
