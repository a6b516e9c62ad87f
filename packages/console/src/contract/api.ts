import { z } from "zod/mini";
import { MAX_CALLS } from "./max-calls.ts";

/**
 * Body of `POST /api/call`, which calls one of the engine's own functions. Functions of users are called with `POST
 * /_console/invoke`.
 */
export const callRequestSchema = z.object({
  function_id: z.string().check(z.minLength(1), z.maxLength(256)),
  /** JSON, passed to the engine unchanged, so that numbers are not rounded. */
  payload: z.optional(z.unknown()),
  timeout_ms: z.optional(z.number().check(z.int(), z.minimum(1), z.maximum(600_000))),
});

/**
 * Body of `POST /api/calls`: several calls that change nothing. The response has a line for each call, written when the
 * call ends. A line is an ApiAnswer with the member `at`, the position of the call in the request.
 */
export const callsRequestSchema = z.object({
  calls: z.array(callRequestSchema).check(z.minLength(1), z.maxLength(MAX_CALLS)),
});

/**
 * Body of `POST /api/export`, which starts an export of the engine. The response body streams the lines of the export.
 */
export const exportRequestSchema = z.object({
  function_id: z.enum(["engine::logs::export", "engine::traces::export"]),
  payload: z.record(z.string(), z.unknown()),
});

/** Body of `POST /api/import`, which starts an import of the engine. It contains the lines of a file. */
export const importRequestSchema = z.object({
  function_id: z.enum(["engine::logs::import", "engine::traces::import"]),
  format: z.enum(["ndjson", "otlp_json"]),
  lines: z.array(z.string()).check(z.maxLength(100_000)),
});

/** Body of `POST /api/login`. The token is that of the engine or of a role. */
export const loginSchema = z.object({ token: z.string().check(z.regex(/^[\x21-\x7e]{1,512}$/)) });

export interface ApiError {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly trace_id?: string | undefined;
}

/** Response of all `/api/*` routes. The HTTP status matches the error. */
export type ApiAnswer<Data> =
  | { readonly ok: true; readonly data: Data }
  | { readonly ok: false; readonly error: ApiError };

/** Source of a setting. `project` is the running engine of the project, which `svc console` found. */
export type SettingSource = "flag" | "env" | "project" | "default";

/** One setting of the console. */
export interface ConsoleSetting {
  readonly flag: string;
  readonly value: string | number | boolean;
  readonly source: SettingSource;
  readonly default: string | number | boolean;
  readonly env: string | null;
}

/** Response of `GET /api/hello`: information about the console. */
export interface Hello {
  readonly console_version: string;
  /** Id of the console's current run. It changes when the console restarts. */
  readonly console_instance_id: string;
  readonly read_only: boolean;
  readonly flow_enabled: boolean;
  readonly server_time_ms: number;
  readonly settings: readonly ConsoleSetting[];
  /** Addresses of the engine. */
  readonly engine: { readonly bridge: string; readonly http: string; readonly realtime: string };
}

/** Result of the last check of one address. */
export interface Probe {
  readonly name: "engine_http" | "engine_realtime" | "engine_bridge" | "console";
  readonly url: string;
  readonly status: "ok" | "unreachable" | "refused";
  readonly latency_ms: number | null;
  readonly reason: string | null;
  readonly checked_at_ms: number;
  readonly last_ok_at_ms: number | null;
}

/**
 * Body of `POST /api/http-request`, the HTTP tester of the Triggers page. The console sends the request to the engine's
 * HTTP port, with `x-svc-console: 1`.
 */
export const httpTestSchema = z.object({
  method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]),
  /** Path and query, starting with a slash. */
  path: z.string().check(z.minLength(1), z.maxLength(8_192), z.startsWith("/")),
  headers: z.array(z.tuple([z.string(), z.string()])),
  body: z.optional(z.string()),
  timeout_ms: z.optional(z.number().check(z.int(), z.minimum(1), z.maximum(600_000))),
});

export interface HttpTestResult {
  readonly status: number;
  readonly status_text: string;
  readonly duration_ms: number;
  readonly bytes: number;
  readonly headers: readonly (readonly [string, string])[];
  /** Text if the body is UTF-8, otherwise base64. */
  readonly body: { readonly text: string } | { readonly base64: string };
  /** True if the body was over 5 MiB and the rest was dropped. */
  readonly truncated: boolean;
}
