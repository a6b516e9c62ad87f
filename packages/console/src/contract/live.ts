import { z } from "zod/mini";

// Messages between the page and `/ws/console`. The server sends batches: each frame is a JSON array of messages, at
// most ten frames a second.

export const clientMessageSchema = z.discriminatedUnion("type", [
  /**
   * Subscribes to a group of a stream. `id` is chosen by the page. The engine's own streams (`svc.*`) have the single
   * group `all`.
   */
  z.object({
    type: z.literal("subscribe"),
    id: z.string().check(z.minLength(1), z.maxLength(64)),
    stream: z.string().check(z.minLength(1), z.maxLength(256)),
    group: z.string().check(z.minLength(1), z.maxLength(256)),
  }),
  z.object({ type: z.literal("unsubscribe"), id: z.string() }),
  /** Answered by `pong` with the same `t`. */
  z.object({ type: z.literal("ping"), t: z.number() }),
]);
export type ClientMessage = z.infer<typeof clientMessageSchema>;

/** State of the connections between the console and the engine. */
export interface EngineState {
  readonly bridge: "connecting" | "connected" | "disconnected";
  /**
   * `refused`: the engine rejects the token for streams but accepts it at the bridge, so calls work and streams do not.
   */
  readonly realtime: "connecting" | "connected" | "disconnected" | "refused";
  /** Instance id of the engine's current run. It changes when the engine restarts. Null before the first connection. */
  readonly instance_id: string | null;
  readonly version: string | null;
  readonly started_at_ms: number | null;
  /** Readable reason why it is not connected. */
  readonly reason: string | null;
  /** Time of the next connection attempt. */
  readonly next_try_at_ms: number | null;
}

export interface LiveEvent {
  readonly type: "create" | "update" | "delete" | "event";
  readonly id: string | null;
  readonly data: unknown;
  readonly timestamp: number;
}

export type ServerMessage =
  | {
      readonly type: "hello";
      readonly instance_id: string;
      readonly engine: EngineState;
      readonly server_time_ms: number;
    }
  | { readonly type: "engine"; readonly engine: EngineState }
  /** All items of the group. `ids` are their ids, if known, in the order of `data`. */
  | {
      readonly type: "sync";
      readonly id: string;
      readonly data: unknown;
      readonly ids: readonly string[] | null;
      readonly at_ms: number;
    }
  | { readonly type: "event"; readonly id: string; readonly event: LiveEvent }
  /** Events were lost; a sync follows. `dropped` is their number if the console's own limit was the reason. */
  | { readonly type: "gap"; readonly id: string; readonly reason: string; readonly dropped?: number }
  | {
      readonly type: "status";
      readonly id: string;
      readonly status: "joining" | "live" | "refused";
      readonly reason: string | null;
    }
  | { readonly type: "pong"; readonly t: number }
  | { readonly type: "error"; readonly code: string; readonly message: string };
