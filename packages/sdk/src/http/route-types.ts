import type { CallContext } from "../calls/call-context.ts";
import type { Registration } from "../registration/registration-options.ts";
import type { HttpRouteSettings } from "../registration/trigger-configs.ts";
import type { RegisteredTrigger } from "../registration/triggers.ts";
import type { InputOf, OutputOf, StandardSchema } from "../schema/standard-schema.ts";
import type { HttpRequest } from "./http-request.ts";
import type { HttpResponse } from "./http-response.ts";
import type { ResponseWriter } from "./response-writer.ts";

type MaybeSchema = StandardSchema | undefined;
/**
 * Schema of the body, or how the body is read. With `stream`, the handler reads it from `request.request_body`. Default
 * `auto`.
 */
export type BodyOption = StandardSchema | "auto" | "stream" | undefined;

/**
 * Options of a route. The schemas are Standard Schemas (zod, valibot, arktype). A request that does not match them gets
 * the response 400, and the handler does not run.
 */
export interface RouteOptions<
  Params extends MaybeSchema = MaybeSchema,
  Query extends MaybeSchema = MaybeSchema,
  Headers extends MaybeSchema = MaybeSchema,
  Body extends BodyOption = BodyOption,
  Response extends MaybeSchema = MaybeSchema,
> extends HttpRouteSettings {
  /** Schema of the path parameters, whose values are strings. */
  readonly params?: Params;
  /**
   * Schema of the query. A parameter is a string. It is a list if it is repeated, or if its JSON Schema is an array.
   */
  readonly query?: Query;
  /** Schema of the headers. Their names are in lower case. */
  readonly headers?: Headers;
  readonly body?: Body;
  /** Schema of the response's body. It is used for the handler's type and for OpenAPI, and is not enforced. */
  readonly response?: Response;
  /** Id of the route's function. Default: `http::METHOD PATH`. */
  readonly functionId?: string | undefined;
  /** One sentence for listings and OpenAPI. */
  readonly description?: string | undefined;
  /** Any JSON, shown in listings. */
  readonly metadata?: unknown;
}

type ParameterIn<Segment> = Segment extends `:${infer Name}` ? Name : Segment extends `*${infer Name}` ? Name : never;
type ParameterNames<Path extends string> = string extends Path
  ? string
  : Path extends `${infer Segment}/${infer Rest}`
    ? ParameterIn<Segment> | ParameterNames<Rest>
    : ParameterIn<Path>;

/** Parameters of a path, e.g. `{ id: string }` for `/orders/:id`. */
export type PathParams<Path extends string> = { readonly [Name in ParameterNames<Path>]: string };

type OutputOr<Schema, Otherwise> = Schema extends StandardSchema ? OutputOf<Schema> : Otherwise;

/** The request that a route's handler gets, after the checks by the schemas. */
export interface RouteInput<Path extends string, Params, Query, Headers, Body> {
  readonly params: OutputOr<Params, PathParams<Path>>;
  readonly query: OutputOr<Query, Readonly<Record<string, string | readonly string[]>>>;
  readonly headers: OutputOr<Headers, Readonly<Record<string, string>>>;
  readonly body: OutputOr<Body, unknown>;
  /**
   * The whole request as it arrived. It has more members, for example the bytes of the body (`request_body`), files and
   * cookies.
   */
  readonly request: HttpRequest;
}

/**
 * Result of a route's handler: a body of the schema's type, or a response with status or headers. The latter may have
 * any body, for example that of an error.
 */
type RouteResult<Response> = Response extends StandardSchema ? InputOf<Response> | HttpResponse | undefined : unknown;

/** Handles a request. It returns the body or `{status_code, headers, body}`, or it writes to the response. */
export type RouteHandler<Path extends string, Params, Query, Headers, Body, Response> = (
  input: RouteInput<Path, Params, Query, Headers, Body>,
  response: ResponseWriter,
  context: CallContext,
) => RouteResult<Response> | Promise<RouteResult<Response>>;

/** A registered route. `unregister` removes the trigger and the function. */
export interface HttpRoute extends Registration {
  readonly trigger: RegisteredTrigger;
}

/** Registers a route for one HTTP method. */
export interface RegisterRoute {
  <
    const Path extends string,
    Params extends MaybeSchema = undefined,
    Query extends MaybeSchema = undefined,
    Headers extends MaybeSchema = undefined,
    Body extends BodyOption = undefined,
    Response extends MaybeSchema = undefined,
  >(
    path: Path,
    options: RouteOptions<Params, Query, Headers, Body, Response>,
    handler: RouteHandler<Path, Params, Query, Headers, Body, Response>,
  ): HttpRoute;
  <const Path extends string>(
    path: Path,
    handler: RouteHandler<Path, undefined, undefined, undefined, undefined, undefined>,
  ): HttpRoute;
}
