import { type Issue, issuesOf, issuesText, MAX_ISSUES } from "../schema/parse-by-schema.ts";
import type { StandardResult } from "../schema/standard-schema.ts";
import type { HttpRequest } from "./http-request.ts";
import type { HttpResponse } from "./http-response.ts";
import { type PartSchemas, REQUEST_PARTS, type RequestPart } from "./route-format.ts";

/** A problem of a request: the part of the request, and the path within this part. */
export interface RequestIssue extends Issue {
  readonly in: RequestPart;
}

const NO_LISTS: ReadonlySet<string> = new Set();

/**
 * Returns the parts of the request in the form in which their schemas return them. If any part is invalid, returns the
 * problems of all parts.
 */
export async function checkedParts(
  request: HttpRequest,
  schemas: PartSchemas,
): Promise<{ readonly parts: Readonly<Record<RequestPart, unknown>> } | { readonly issues: readonly RequestIssue[] }> {
  const parts: Record<RequestPart, unknown> = {
    params: request.path_params ?? {},
    query: queryOf(request, schemas.query?.lists ?? NO_LISTS),
    headers: request.headers ?? {},
    body: request.body,
  };
  const issues: RequestIssue[] = [];
  for (const part of REQUEST_PARTS) {
    const schema = schemas[part]?.schema;
    if (schema === undefined) continue;
    const result: StandardResult<unknown> = await schema["~standard"].validate(parts[part]);
    if (result.issues === undefined) parts[part] = result.value;
    else issues.push(...issuesOf(result).map((issue) => ({ in: part, ...issue })));
  }
  return issues.length === 0 ? { parts } : { issues: issues.slice(0, MAX_ISSUES) };
}

/**
 * Returns the query parameters by name. The type is partial, because a worker that calls the function directly may omit
 * members.
 */
function queryOf(
  { query, query_params }: Partial<HttpRequest>,
  lists: ReadonlySet<string>,
): Readonly<Record<string, unknown>> {
  if (query === undefined) return query_params ?? {};
  // Built from entries, because an assignment to a parameter named __proto__ would set the prototype.
  return Object.fromEntries(
    Object.entries(query).map(([name, values]) => [name, lists.has(name) || values.length !== 1 ? values : values[0]]),
  );
}

/** Returns the response for a request that does not match the schemas, in the form of the engine's own errors. */
export function badRequest(route: string, issues: readonly RequestIssue[]): HttpResponse {
  const text = issuesText(issues.map(({ in: part, path, message }) => ({ path: [part, ...path], message })));
  const error = {
    code: "invalid_input",
    message: `the request does not match the route ${route}: ${text}`,
    issues,
  };
  return { status_code: 400, headers: { "x-content-type-options": "nosniff" }, body: { error } };
}
