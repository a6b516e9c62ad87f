import { z } from "zod/mini";

/** What `POST /api/call` takes: one of the engine's own functions, by its id. Users' functions go to `POST /_console/invoke`. */
export const callRequestSchema = z.object({
  function_id: z.string().check(z.minLength(1), z.maxLength(256)),
  /** JSON, carried to the engine to the digit. */
  payload: z.optional(z.unknown()),
  timeout_ms: z.optional(z.number().check(z.int(), z.minimum(1), z.maximum(600_000))),
});

/** What `POST /api/export` takes: an export of the engine's, whose lines are the answer's body as they come. */
export const exportRequestSchema = z.object({
  function_id: z.enum(["engine::logs::export", "engine::traces::export"]),
  payload: z.record(z.string(), z.unknown()),
});

/** What `POST /api/login` takes: a token of the engine's, or of a role. */
export const loginSchema = z.object({ token: z.string().check(z.regex(/^[\x21-\x7e]{1,512}$/)) });

export interface ApiError {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly trace_id?: string | undefined;
}

/** Every answer of `/api/*`; the HTTP status fits the error. */
export type ApiAnswer<Data> = { readonly ok: true; readonly data: Data } | { readonly ok: false; readonly error: ApiError };

/** `project`: as the engine that runs for the project at hand says, which `svc console` looks for. */
export type SettingSource = "flag" | "env" | "project" | "default";

/** One setting of the console's own. */
export interface ConsoleSetting {
  readonly flag: string;
  readonly value: string | number | boolean;
  readonly source: SettingSource;
  readonly default: string | number | boolean;
  readonly env: string | null;
}

/** `GET /api/hello`: who serves the page. */
export interface Hello {
  readonly console_version: string;
  /** Changes when the console's server is started again. */
  readonly console_instance_id: string;
  readonly read_only: boolean;
  readonly flow_enabled: boolean;
  readonly server_time_ms: number;
  readonly settings: readonly ConsoleSetting[];
  /** Where the console looks for the engine. */
  readonly engine: { readonly bridge: string; readonly http: string; readonly realtime: string };
}

/** One thing that the console tries to reach, as it went last time. */
export interface Probe {
  readonly name: "engine_http" | "engine_realtime" | "engine_bridge" | "console";
  readonly url: string;
  readonly status: "ok" | "unreachable" | "refused";
  readonly latency_ms: number | null;
  readonly reason: string | null;
  readonly checked_at_ms: number;
  readonly last_ok_at_ms: number | null;
}

/** What `POST /api/http-request` takes: the HTTP tester of the Triggers page. The console sends it to the engine's HTTP port, with `x-svc-console: 1`. */
export const httpTestSchema = z.object({
  method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]),
  /** Path and query, beginning with a slash. */
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
  /** Text when it is UTF-8, else base64. */
  readonly body: { readonly text: string } | { readonly base64: string };
  /** Over 5 MiB the rest is left out. */
  readonly truncated: boolean;
}
