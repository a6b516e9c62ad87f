import { t } from "../../../labels/translate.ts";
import { quotedWord } from "../../../lib/shell-word.ts";

export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] as const;
export type Method = (typeof METHODS)[number];

/** A query parameter, header or form field. */
export interface Row {
  /** Id of the row. It stays the same while the row is edited. */
  readonly id: number;
  readonly name: string;
  readonly value: string;
  readonly on: boolean;
}

export type BodyKind = "none" | "json" | "text" | "form";

export type Auth =
  | { readonly kind: "none" }
  | { readonly kind: "bearer"; readonly token: string }
  | { readonly kind: "basic"; readonly user: string; readonly password: string };

/** The tester's form, as the user typed it. */
export interface HttpDraft {
  readonly method: Method;
  /** Values of the path parameters by name. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: readonly Row[];
  readonly headers: readonly Row[];
  readonly bodyKind: BodyKind;
  readonly body: string;
  readonly form: readonly Row[];
  readonly auth: Auth;
  readonly timeoutMs: string;
}

/** The body of `POST /api/http-request`. */
export interface HttpRequest {
  readonly method: Method;
  /** Path with the query. */
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body?: string;
  readonly timeout_ms?: number;
}

type Segment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "parameter" | "tail"; readonly name: string };

function segmentsOf(pattern: string): readonly Segment[] {
  return pattern
    .slice(1)
    .split("/")
    .map((text): Segment => {
      if (text.length > 1 && text.startsWith(":")) return { kind: "parameter", name: text.slice(1) };
      if (text.length > 1 && text.startsWith("*")) return { kind: "tail", name: text.slice(1) };
      return { kind: "literal", text };
    });
}

/** Returns the parameters of a path such as `/users/:id/*rest`, in order. */
export function pathParameters(pattern: string): readonly { readonly name: string; readonly isTail: boolean }[] {
  return segmentsOf(pattern).flatMap((segment) =>
    segment.kind === "literal" ? [] : [{ name: segment.name, isTail: segment.kind === "tail" }],
  );
}

export function takesBody(method: Method): boolean {
  return method !== "GET" && method !== "HEAD";
}

/** Returns the initial draft of a trigger's tester. */
export function initialDraft(method: string): HttpDraft {
  const known = METHODS.find((each) => each === method) ?? "GET";
  const hasBody = known === "POST" || known === "PUT" || known === "PATCH";
  return {
    method: known,
    params: {},
    query: [],
    headers: [],
    bodyKind: hasBody ? "json" : "none",
    body: hasBody ? "{}" : "",
    form: [],
    auth: { kind: "none" },
    timeoutMs: "",
  };
}

/** Returns the schema of the body from the format of a route's function. Returns undefined if it has none. */
export function bodySchemaOf(format: unknown): unknown {
  const { properties, $defs } = (format ?? {}) as {
    readonly properties?: { readonly body?: unknown };
    readonly $defs?: unknown;
  };
  const body = properties?.body;
  // The definitions are copied, because references in the body's schema refer to definitions of the whole format.
  return typeof body === "object" && body !== null && $defs !== undefined ? { ...body, $defs } : body;
}

/** Builds the request from the draft. If the draft is not valid yet, returns the reason. */
export function requestOf(
  draft: HttpDraft,
  pattern: string,
): { readonly request: HttpRequest } | { readonly problem: string } {
  const path = pathOf(pattern, draft.params);
  if ("problem" in path) return path;
  const query = encoded(draft.query);
  const headers: (readonly [string, string])[] = named(draft.headers).map(
    ({ name, value }) => [name.trim(), value] as const,
  );
  const invalid = headers.find(
    ([name, value]) => !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || /[\r\n\0]/.test(value),
  );
  if (invalid !== undefined) return { problem: t`${JSON.stringify(invalid[0])} is not a valid header` };
  const has = (name: string): boolean => headers.some(([given]) => given.toLowerCase() === name);
  const authorization = authorizationOf(draft.auth);
  if (authorization !== undefined && !has("authorization")) headers.push(["authorization", authorization]);
  const body = bodyOf(draft);
  if (body.type !== undefined && !has("content-type")) headers.push(["content-type", body.type]);
  if (draft.bodyKind === "json" && takesBody(draft.method)) {
    try {
      JSON.parse(draft.body);
    } catch (error) {
      return { problem: t`The body is not JSON: ${(error as Error).message}. Select Text to send it unchanged` };
    }
  }
  if (
    draft.timeoutMs !== "" &&
    !(/^\d{1,6}$/.test(draft.timeoutMs) && Number(draft.timeoutMs) >= 1 && Number(draft.timeoutMs) <= 600_000)
  ) {
    return { problem: t`The timeout must be from 1 to 600000 milliseconds` };
  }
  return {
    request: {
      method: draft.method,
      path: query === "" ? path.path : `${path.path}?${query}`,
      headers,
      ...(body.text === undefined ? {} : { body: body.text }),
      ...(draft.timeoutMs === "" ? {} : { timeout_ms: Number(draft.timeoutMs) }),
    },
  };
}

function pathOf(
  pattern: string,
  params: HttpDraft["params"],
): { readonly path: string } | { readonly problem: string } {
  const parts: string[] = [];
  for (const segment of segmentsOf(pattern)) {
    if (segment.kind === "literal") {
      parts.push(encodeURIComponent(segment.text));
      continue;
    }
    const value = Object.hasOwn(params, segment.name) ? (params[segment.name] ?? "") : "";
    if (value === "") return { problem: t`Enter a value for ${segment.kind === "tail" ? "*" : ":"}${segment.name}` };
    parts.push(
      segment.kind === "tail" ? value.split("/").map(encodeURIComponent).join("/") : encodeURIComponent(value),
    );
  }
  return { path: `/${parts.join("/")}` };
}

function named(rows: readonly Row[]): readonly Row[] {
  return rows.filter(({ on, name }) => on && name.trim() !== "");
}

function encoded(rows: readonly Row[]): string {
  return new URLSearchParams(named(rows).map(({ name, value }) => [name, value])).toString();
}

function authorizationOf(auth: Auth): string | undefined {
  if (auth.kind === "bearer") return auth.token === "" ? undefined : `Bearer ${auth.token}`;
  if (auth.kind === "basic")
    return `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(`${auth.user}:${auth.password}`)))}`;
  return undefined;
}

function bodyOf(draft: HttpDraft): { readonly text?: string; readonly type?: string } {
  switch (takesBody(draft.method) ? draft.bodyKind : "none") {
    case "json":
      return { text: draft.body, type: "application/json" };
    case "text":
      return { text: draft.body, type: "text/plain; charset=utf-8" };
    case "form":
      return { text: encoded(draft.form), type: "application/x-www-form-urlencoded" };
    default:
      return {};
  }
}

/** Formats the request as a curl command for a POSIX shell. */
export function curlOf({ method, path, headers, body }: HttpRequest, base: string): string {
  const parts = [`curl -sS -i ${method === "HEAD" ? "--head" : `-X ${method}`} ${quotedWord(`${base}${path}`)}`];
  for (const [name, value] of headers) parts.push(`-H ${quotedWord(value === "" ? `${name};` : `${name}: ${value}`)}`);
  if (body !== undefined) parts.push(`--data-raw ${quotedWord(body)}`);
  return parts.join(" \\\n  ");
}
