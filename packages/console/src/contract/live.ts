import { z } from "zod/mini";

// Messages between the page and the WebSocket `/ws/console`. The server sends at most ten frames per second. Each frame
// is a JSON array of messages.

export const clientMessageSchema = z.discriminatedUnion("type", [
  /**
   * Subscribes to a group of a stream. The page chooses the `id`. Each of the engine's own streams (`svc.*`) has only
   * the group `all`.
   */
  z.object({
    type: z.literal("subscribe"),
    id: z.string().check(z.minLength(1), z.maxLength(64)),
    stream: z.string().check(z.minLength(1), z.maxLength(256)),
    group: z.string().check(z.minLength(1), z.maxLength(256)),
  }),
  z.object({ type: z.literal("unsubscribe"), id: z.string() }),
  /** The server responds with `pong` and the same `t`. */
  z.object({ type: z.literal("ping"), t: z.number() }),
]);
export type ClientMessage = z.infer<typeof clientMessageSchema>;

/** State of the connections between the console and the engine. */
export interface EngineState {
  readonly bridge: "connecting" | "connected" | "disconnected";
  /**
   * `refused` means that the engine accepts the token at the bridge but not for streams. Calls then work, and streams
   * do not.
   */
  readonly realtime: "connecting" | "connected" | "disconnected" | "refused";
  /** Instance id of the engine's current run. It changes when the engine restarts. Null before the first connection. */
  readonly instance_id: string | null;
  readonly version: string | null;
  readonly started_at_ms: number | null;
  /** Reason for users why there is no connection. */
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
  /** All items of the group. `ids` has their ids in the order of `data`; null if the ids are not known. */
  | {
      readonly type: "sync";
      readonly id: string;
      readonly data: unknown;
      readonly ids: readonly string[] | null;
      readonly at_ms: number;
    }
  | { readonly type: "event"; readonly id: string; readonly event: LiveEvent }
  /**
   * Reports that events were lost. A sync follows. `dropped` is the number of lost events; it is present only if the
   * console dropped them because of its own limit.
   */
  | { readonly type: "gap"; readonly id: string; readonly reason: string; readonly dropped?: number }
  | {
      readonly type: "status";
      readonly id: string;
      readonly status: "joining" | "live" | "refused";
      readonly reason: string | null;
    }
  | { readonly type: "pong"; readonly t: number }
  | { readonly type: "error"; readonly code: string; readonly message: string };
