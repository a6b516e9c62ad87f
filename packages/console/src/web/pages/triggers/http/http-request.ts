import { quotedWord } from "../../../lib/shell-word.ts";

export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] as const;
export type Method = (typeof METHODS)[number];

/** One line of query parameters, headers or form fields. */
export interface Row {
  /** Stays the same while the line is edited. */
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

/** What the tester holds, as typed. */
export interface HttpDraft {
  readonly method: Method;
  /** By the names of the path's parameters. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: readonly Row[];
  readonly headers: readonly Row[];
  readonly bodyKind: BodyKind;
  readonly body: string;
  readonly form: readonly Row[];
  readonly auth: Auth;
  readonly timeoutMs: string;
}

/** What goes to `POST /api/http-request`. */
export interface HttpRequest {
  readonly method: Method;
  /** With the query. */
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body?: string;
  readonly timeout_ms?: number;
}

type Segment = { readonly kind: "literal"; readonly text: string } | { readonly kind: "parameter" | "tail"; readonly name: string };

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

/** The names in a path such as `/users/:id/*rest`, in their order. */
export function pathParameters(pattern: string): readonly { readonly name: string; readonly isTail: boolean }[] {
  return segmentsOf(pattern).flatMap((segment) => (segment.kind === "literal" ? [] : [{ name: segment.name, isTail: segment.kind === "tail" }]));
}

export function takesBody(method: Method): boolean {
  return method !== "GET" && method !== "HEAD";
}

/** The draft that a trigger's tester begins with. */
export function firstDraft(method: string): HttpDraft {
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

/** The request that the draft stands for, or why there is none yet. */
export function requestOf(draft: HttpDraft, pattern: string): { readonly request: HttpRequest } | { readonly problem: string } {
  const path = pathOf(pattern, draft.params);
  if ("problem" in path) return path;
  const query = encoded(draft.query);
  const headers: (readonly [string, string])[] = named(draft.headers).map(({ name, value }) => [name.trim(), value] as const);
  const wrong = headers.find(([name, value]) => !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || /[\r\n\0]/.test(value));
  if (wrong !== undefined) return { problem: `${JSON.stringify(wrong[0])} is no header that can be sent` };
  const has = (name: string): boolean => headers.some(([given]) => given.toLowerCase() === name);
  const authorization = authorizationOf(draft.auth);
  if (authorization !== undefined && !has("authorization")) headers.push(["authorization", authorization]);
  const body = bodyOf(draft);
  if (body.type !== undefined && !has("content-type")) headers.push(["content-type", body.type]);
  if (draft.bodyKind === "json" && takesBody(draft.method)) {
    try {
      JSON.parse(draft.body);
    } catch (error) {
      return { problem: `The body is not JSON: ${(error as Error).message}. Choose text to send it as it is` };
    }
  }
  if (draft.timeoutMs !== "" && !(/^\d{1,6}$/.test(draft.timeoutMs) && Number(draft.timeoutMs) >= 1 && Number(draft.timeoutMs) <= 600_000)) {
    return { problem: "The timeout is a number of milliseconds from 1 to 600000" };
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

function pathOf(pattern: string, params: HttpDraft["params"]): { readonly path: string } | { readonly problem: string } {
  const parts: string[] = [];
  for (const segment of segmentsOf(pattern)) {
    if (segment.kind === "literal") {
      parts.push(encodeURIComponent(segment.text));
      continue;
    }
    const value = Object.hasOwn(params, segment.name) ? (params[segment.name] ?? "") : "";
    if (value === "") return { problem: `Give a value for ${segment.kind === "tail" ? "*" : ":"}${segment.name}` };
    parts.push(segment.kind === "tail" ? value.split("/").map(encodeURIComponent).join("/") : encodeURIComponent(value));
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
  if (auth.kind === "basic") return `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(`${auth.user}:${auth.password}`)))}`;
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

/** The request as a command for a POSIX shell. */
export function curlOf({ method, path, headers, body }: HttpRequest, base: string): string {
  const parts = [`curl -sS -i ${method === "HEAD" ? "--head" : `-X ${method}`} ${quotedWord(`${base}${path}`)}`];
  for (const [name, value] of headers) parts.push(`-H ${quotedWord(value === "" ? `${name};` : `${name}: ${value}`)}`);
  if (body !== undefined) parts.push(`--data-raw ${quotedWord(body)}`);
  return parts.join(" \\\n  ");
}
