import type { Directory } from "../../../kernel/directory.ts";
import type { RoutePattern } from "../routing/route-pattern.ts";
import type { RouteHolder } from "../routing/routes.ts";
import { ComponentSchemas } from "./component-schemas.ts";
import { isRequired, propertiesOf, propertyOf } from "./json-schema.ts";
import { requestContent, responseContent } from "./openapi-content.ts";

/** The data for the document. */
export interface OpenApiSource {
  readonly routes: readonly RouteHolder[];
  /** The functions and triggers that the caller may see. Routes of other functions are omitted. */
  readonly directory: Pick<Directory, "functionById" | "triggers">;
}

/** Data that all operations of one document share. */
interface Parts {
  readonly directory: OpenApiSource["directory"];
  readonly components: ComponentSchemas;
  readonly usedIds: Set<string>;
}

interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly parameters: readonly unknown[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, unknown>>;
}

const ERROR_SCHEMA = {
  type: "object",
  properties: {
    error: {
      type: "object",
      properties: {
        code: { type: "string" },
        message: { type: "string" },
        error_id: { type: "string" },
        issues: {
          type: "array",
          description: "Problems of a request that does not match the route's schemas",
          items: {
            type: "object",
            properties: {
              in: { enum: ["params", "query", "headers", "body"] },
              path: { type: "array", items: { type: ["string", "integer"] } },
              message: { type: "string" },
            },
            required: ["in", "path", "message"],
          },
        },
      },
      required: ["code", "message"],
    },
  },
  required: ["error"],
};
const ERROR_REF = { $ref: "#/components/schemas/Error" };
const errorResponse = (description: string) => ({
  description,
  content: { "application/json": { schema: ERROR_REF } },
});

const BODY_REFUSALS = {
  "408": errorResponse("The body did not arrive in time"),
  "413": errorResponse("The body is too large"),
  "415": errorResponse("The body's type is not supported"),
};

/**
 * Returns all routes as an OpenAPI 3.1 document. Bodies are described by the functions' formats: the `body` property of
 * `request_format` describes the request body, `path_params`, `query_params` and `headers` the parameters;
 * `response_format` describes the response's body or the response object.
 */
export function openApiDocument({ routes, directory }: OpenApiSource): Record<string, unknown> {
  const paths = Object.create(null) as Record<string, Record<string, Operation>>;
  const components = new ComponentSchemas({ Error: ERROR_SCHEMA });
  const usedIds = new Set<string>();
  // OpenAPI treats paths that differ only in parameter names as one path; the names of the first route are used.
  const patterns = new Map<string, RoutePattern>();
  const visible = new Set(directory.triggers().map(({ function_id }) => function_id));
  for (const holder of routes) {
    if (!visible.has(holder.binding.functionId)) continue;
    const pattern = patterns.get(holder.pattern.shape) ?? holder.pattern;
    patterns.set(pattern.shape, pattern);
    const path = templateOf(pattern.path);
    paths[path] ??= Object.create(null) as Record<string, Operation>;
    paths[path][holder.method.toLowerCase()] = operationOf(holder, pattern, { directory, components, usedIds });
  }
  return {
    openapi: "3.1.0",
    info: { title: "Routes of this engine", version: "1" },
    paths,
    components: { schemas: components.schemas },
  };
}

/** Converts `/users/:id/*rest` to `/users/{id}/{rest}`. */
function templateOf(path: string): string {
  return path
    .split("/")
    .map((segment) => segment.replace(/^[:*](.+)$/, "{$1}").replace(/^\{\*(.+)\}$/, "{$1}"))
    .join("/");
}

function operationOf(
  { binding, method }: RouteHolder,
  pattern: RoutePattern,
  { directory, components, usedIds }: Parts,
): Operation {
  const view = directory.functionById(binding.functionId);
  const format = components.moved(view?.request_format);
  const names = [...pattern.parameterNames, ...(pattern.tailName === undefined ? [] : [pattern.tailName])];
  const body = propertyOf(format, "body");
  const { settings } = binding;
  const takesBody =
    method === "POST" || method === "PUT" || method === "PATCH" || settings.streamsBody || body !== undefined;
  const path = propertyOf(format, "path_params");
  return {
    operationId: uniqueId(binding.functionId, method, usedIds),
    ...(view?.description === null || view?.description === undefined ? {} : { summary: view.description }),
    parameters: [
      ...names.map((name) => ({
        name,
        in: "path",
        required: true,
        schema: propertyOf(path, name) ?? { type: "string" },
      })),
      ...parametersOf("query", propertyOf(format, "query_params")),
      ...parametersOf("header", propertyOf(format, "headers")),
    ],
    ...(takesBody ? { requestBody: { content: requestContent(format, settings) } } : {}),
    responses: {
      "200": {
        description: "The function's response",
        content: responseContent(components.moved(view?.response_format)),
      },
      "400": errorResponse("The request is malformed"),
      ...(takesBody ? BODY_REFUSALS : {}),
      ...(settings.conditionFunctionId === undefined
        ? {}
        : { "422": errorResponse("The condition of the route was not met") }),
      ...(settings.rateLimit === undefined ? {} : { "429": errorResponse("The client sent too many requests") }),
      "500": errorResponse("The function failed"),
      "503": errorResponse("The function has no provider, or the engine is overloaded"),
      "504": errorResponse("The function did not answer in time"),
    },
  };
}

/** Headers that OpenAPI describes elsewhere, and not as parameters. */
const DESCRIBED_HEADERS: ReadonlySet<string> = new Set(["accept", "authorization", "content-type"]);

function parametersOf(place: "query" | "header", schema: unknown): readonly unknown[] {
  return Object.entries(propertiesOf(schema))
    .filter(([name]) => place === "query" || !DESCRIBED_HEADERS.has(name.toLowerCase()))
    .map(([name, each]) => ({ name, in: place, required: isRequired(schema, name), schema: each }));
}

function uniqueId(functionId: string, method: string, used: Set<string>): string {
  for (let number = 1; ; number++) {
    const id = number === 1 ? functionId : `${functionId} ${method}${number === 2 ? "" : ` ${number}`}`;
    if (used.has(id)) continue;
    used.add(id);
    return id;
  }
}
