import type { CallContext } from "../calls/call-context.ts";
import type { Registration } from "../registration/registration-options.ts";
import type { HttpRouteSettings } from "../registration/trigger-configs.ts";
import type { RegisteredTrigger } from "../registration/triggers.ts";
import type { InputOf, OutputOf, StandardSchema } from "../schema/standard-schema.ts";
import type { HttpRequest } from "./http-request.ts";
import type { HttpResponse } from "./http-response.ts";
import type { ResponseWriter } from "./response-writer.ts";

type MaybeSchema = StandardSchema | undefined;
/** Schema of the body, or how it is read: `stream` leaves it to `request.request_body`. Default `auto`. */
export type BodyOption = StandardSchema | "auto" | "stream" | undefined;

/**
 * Options of a route. The schemas are Standard Schemas (zod, valibot, arktype). A request that does not match them is
 * answered 400 before the handler runs.
 */
export interface RouteOptions<
  Params extends MaybeSchema = MaybeSchema,
  Query extends MaybeSchema = MaybeSchema,
  Headers extends MaybeSchema = MaybeSchema,
  Body extends BodyOption = BodyOption,
  Response extends MaybeSchema = MaybeSchema,
> extends HttpRouteSettings {
  /** Parameters of the path. Their values are strings. */
  readonly params?: Params;
  /** A parameter is a string, or a list if it is repeated or its JSON Schema is an array. */
  readonly query?: Query;
  /** Names are in lower case. */
  readonly headers?: Headers;
  readonly body?: Body;
  /** Schema of the response's body, for the handler's type and OpenAPI. Not enforced. */
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

/** The checked request of a route. */
export interface RouteInput<Path extends string, Params, Query, Headers, Body> {
  readonly params: OutputOr<Params, PathParams<Path>>;
  readonly query: OutputOr<Query, Readonly<Record<string, string | readonly string[]>>>;
  readonly headers: OutputOr<Headers, Readonly<Record<string, string>>>;
  readonly body: OutputOr<Body, unknown>;
  /** The whole request as it arrived, with the bytes of the body (`request_body`), files, cookies and so on. */
  readonly request: HttpRequest;
}

/** A response of the schema's type. A response with status or headers, e.g. of an error, may have another body. */
type RouteResult<Response> = Response extends StandardSchema ? InputOf<Response> | HttpResponse | undefined : unknown;

/** Handles a request. It returns the body or `{status_code, headers, body}`, or it writes the response. */
export type RouteHandler<Path extends string, Params, Query, Headers, Body, Response> = (
  input: RouteInput<Path, Params, Query, Headers, Body>,
  response: ResponseWriter,
  context: CallContext,
) => RouteResult<Response> | Promise<RouteResult<Response>>;

/** A registered route. `unregister` removes the trigger and the function. */
export interface HttpRoute extends Registration {
  readonly trigger: RegisteredTrigger;
}

/** Registers a route of one method. */
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
