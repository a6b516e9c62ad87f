import { z } from "zod/mini";

// What passes between the page and `/ws/console`. The server batches: a frame from it is a JSON array of messages, at most ten a second.

export const clientMessageSchema = z.discriminatedUnion("type", [
  /** Joins a group of a stream; `id` is the page's name for it. The engine's own streams (`svc.*`) have the one group `all`. */
  z.object({
    type: z.literal("subscribe"),
    id: z.string().check(z.minLength(1), z.maxLength(64)),
    stream: z.string().check(z.minLength(1), z.maxLength(256)),
    group: z.string().check(z.minLength(1), z.maxLength(256)),
  }),
  z.object({ type: z.literal("unsubscribe"), id: z.string() }),
  /** Answered with `pong` and the same `t`. */
  z.object({ type: z.literal("ping"), t: z.number() }),
]);
export type ClientMessage = z.infer<typeof clientMessageSchema>;

/** How the console's server is connected with the engine. */
export interface EngineState {
  readonly bridge: "connecting" | "connected" | "disconnected";
  /** `refused`: the engine does not accept the token there, and accepts it at the bridge: calls work, streams do not. */
  readonly realtime: "connecting" | "connected" | "disconnected" | "refused";
  /** Of the engine's present run; another one means that it was started again. Null before the first connection. */
  readonly instance_id: string | null;
  readonly version: string | null;
  readonly started_at_ms: number | null;
  /** Why it is not connected, for people. */
  readonly reason: string | null;
  /** When the next attempt is made. */
  readonly next_try_at_ms: number | null;
}

export interface LiveEvent {
  readonly type: "create" | "update" | "delete" | "event";
  readonly id: string | null;
  readonly data: unknown;
  readonly timestamp: number;
}

export type ServerMessage =
  | { readonly type: "hello"; readonly instance_id: string; readonly engine: EngineState; readonly server_time_ms: number }
  | { readonly type: "engine"; readonly engine: EngineState }
  /** All there is; `ids` of a group's items where they are known, in the order of `data`. */
  | { readonly type: "sync"; readonly id: string; readonly data: unknown; readonly ids: readonly string[] | null; readonly at_ms: number }
  | { readonly type: "event"; readonly id: string; readonly event: LiveEvent }
  /** Events were missed; a sync follows. `dropped` where the console's own bound was the reason. */
  | { readonly type: "gap"; readonly id: string; readonly reason: string; readonly dropped?: number }
  | { readonly type: "status"; readonly id: string; readonly status: "joining" | "live" | "refused"; readonly reason: string | null }
  | { readonly type: "pong"; readonly t: number }
  | { readonly type: "error"; readonly code: string; readonly message: string };
