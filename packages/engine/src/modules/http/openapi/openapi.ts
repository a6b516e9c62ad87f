import type { Directory } from "../../../kernel/directory.ts";
import type { RoutePattern } from "../routing/route-pattern.ts";
import type { RouteHolder } from "../routing/routes.ts";
import { isRequired, propertiesOf, propertyOf } from "./json-schema.ts";
import { answerContent, requestContent } from "./openapi-content.ts";

/** What the document is built from. */
export interface OpenApiSource {
  readonly routes: readonly RouteHolder[];
  /** What the caller may see; routes of other functions are left out. */
  readonly directory: Pick<Directory, "functionById" | "triggers">;
}

interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly parameters: readonly unknown[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, unknown>>;
}

const ERROR_REF = { $ref: "#/components/schemas/Error" };
const errorAnswer = (description: string) => ({ description, content: { "application/json": { schema: ERROR_REF } } });

const BODY_REFUSALS = {
  "408": errorAnswer("The body did not come in time"),
  "413": errorAnswer("The body is too large"),
  "415": errorAnswer("The body's type is not understood"),
};

/**
 * All routes as an OpenAPI 3.1 document. Bodies are described by the functions' own formats: `request_format` is that of the request
 * object, so its `body` property describes the body; `response_format` is that of the response's body, or of the response object.
 */
export function openApiDocument({ routes, directory }: OpenApiSource): Record<string, unknown> {
  const paths = Object.create(null) as Record<string, Record<string, Operation>>;
  const usedIds = new Set<string>();
  // Paths that differ in the names of their parameters only are one path to OpenAPI; the names of the first route count.
  const patterns = new Map<string, RoutePattern>();
  const visible = new Set(directory.triggers().map(({ function_id }) => function_id));
  for (const holder of routes) {
    if (!visible.has(holder.binding.functionId)) continue;
    const pattern = patterns.get(holder.pattern.shape) ?? holder.pattern;
    patterns.set(pattern.shape, pattern);
    const path = templateOf(pattern.path);
    paths[path] ??= Object.create(null) as Record<string, Operation>;
    paths[path][holder.method.toLowerCase()] = operationOf(holder, pattern, directory, usedIds);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Routes of this engine", version: "1" },
    paths,
    components: {
      schemas: {
        Error: {
          type: "object",
          properties: {
            error: {
              type: "object",
              properties: { code: { type: "string" }, message: { type: "string" }, error_id: { type: "string" } },
              required: ["code", "message"],
            },
          },
          required: ["error"],
        },
      },
    },
  };
}

/** `/users/:id/*rest` as `/users/{id}/{rest}`. */
function templateOf(path: string): string {
  return path
    .split("/")
    .map((segment) => segment.replace(/^[:*](.+)$/, "{$1}").replace(/^\{\*(.+)\}$/, "{$1}"))
    .join("/");
}

function operationOf({ binding, method }: RouteHolder, pattern: RoutePattern, directory: OpenApiSource["directory"], usedIds: Set<string>): Operation {
  const view = directory.functionById(binding.functionId);
  const names = [...pattern.parameterNames, ...(pattern.tailName === undefined ? [] : [pattern.tailName])];
  const body = propertyOf(view?.request_format, "body");
  const { settings } = binding;
  const takesBody = method === "POST" || method === "PUT" || method === "PATCH" || settings.streamsBody || body !== undefined;
  const query = propertyOf(view?.request_format, "query_params");
  return {
    operationId: uniqueId(binding.functionId, method, usedIds),
    ...(view?.description === null || view?.description === undefined ? {} : { summary: view.description }),
    parameters: [
      ...names.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } })),
      ...Object.entries(propertiesOf(query)).map(([name, schema]) => ({ name, in: "query", required: isRequired(query, name), schema })),
    ],
    ...(takesBody ? { requestBody: { content: requestContent(view?.request_format, settings) } } : {}),
    responses: {
      "200": { description: "The function's answer", content: answerContent(view?.response_format) },
      "400": errorAnswer("The request cannot be understood"),
      ...(takesBody ? BODY_REFUSALS : {}),
      ...(settings.conditionFunctionId === undefined ? {} : { "422": errorAnswer("The condition of the route was not met") }),
      ...(settings.rateLimit === undefined ? {} : { "429": errorAnswer("The client asks too often") }),
      "500": errorAnswer("The function failed"),
      "503": errorAnswer("The function is not there, or there is too much to do"),
      "504": errorAnswer("The function did not answer in time"),
    },
  };
}

function uniqueId(functionId: string, method: string, used: Set<string>): string {
  for (let number = 1; ; number++) {
    const id = number === 1 ? functionId : `${functionId} ${method}${number === 2 ? "" : ` ${number}`}`;
    if (used.has(id)) continue;
    used.add(id);
    return id;
  }
}
