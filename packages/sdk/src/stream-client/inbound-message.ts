import { isObject } from "../is-object.ts";
import type { StreamGap } from "./stream-handlers.ts";

/** Messages that the engine sends on a connection after the hello. */
export type InboundMessage =
  | { readonly type: "welcome"; readonly epoch: string }
  | { readonly type: "joined"; readonly subscriptionId: string; readonly seq: number; readonly resumed: boolean }
  | { readonly type: "stream"; readonly subscriptionIds: readonly string[]; readonly event: InboundEvent }
  | { readonly type: "gap"; readonly subscriptionId: string; readonly gap: StreamGap }
  | {
      readonly type: "error";
      readonly subscriptionId: string | undefined;
      readonly code: string;
      readonly message: string;
    }
  /** Positions of the subscriptions that have no undelivered events. */
  | {
      readonly type: "heartbeat";
      readonly positions: readonly { readonly subscriptionId: string; readonly seq: number }[];
    }
  /** A ping, or a message that this version does not know. */
  | { readonly type: "other" };

export interface InboundEvent {
  readonly type: string;
  /** Present for a sync, create, update or delete. */
  readonly data: unknown;
  /** Present for an `event`. */
  readonly event: unknown;
  readonly id: string | null;
  /** Ids of the items in the sync of a group. Undefined if the engine does not send them. */
  readonly itemIds: readonly string[] | undefined;
  readonly seq: number;
  readonly version: number | undefined;
  readonly timestamp: number;
}

type Members = Readonly<Record<string, unknown>>;

/** Parses a message. Returns undefined for any other text. */
export function readInbound(text: string): InboundMessage | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(parsed)) return undefined;
  const data = isObject(parsed.data) ? parsed.data : {};
  switch (parsed.type) {
    case "welcome":
      return typeof data.epoch === "string" ? { type: "welcome", epoch: data.epoch } : undefined;
    case "joined":
      return {
        type: "joined",
        subscriptionId: textOf(data.subscriptionId),
        seq: numberOf(data.seq),
        resumed: data.resumed === true,
      };
    case "stream":
      return { type: "stream", subscriptionIds: textsOf(parsed.subscriptionIds) ?? [], event: eventOf(parsed) };
    case "gap":
      return { type: "gap", subscriptionId: textOf(data.subscriptionId), gap: gapOf(data) };
    case "error": {
      const subscriptionId = typeof data.subscriptionId === "string" ? data.subscriptionId : undefined;
      return {
        type: "error",
        subscriptionId,
        code: textOf(data.code, "UNKNOWN"),
        message: textOf(data.message, "the engine gave no reason"),
      };
    }
    case "heartbeat":
      return { type: "heartbeat", positions: positionsOf(parsed.positions) };
    default:
      return typeof parsed.type === "string" ? { type: "other" } : undefined;
  }
}

function eventOf(message: Members): InboundEvent {
  const event = isObject(message.event) ? message.event : {};
  return {
    type: textOf(event.type),
    data: event.data,
    event: event.event,
    id: typeof message.id === "string" ? message.id : null,
    itemIds: textsOf(message.itemIds),
    seq: numberOf(message.seq),
    version: typeof message.version === "number" ? message.version : undefined,
    timestamp: numberOf(message.timestamp),
  };
}

function gapOf(data: Members): StreamGap {
  const { reason } = data;
  const known = reason === "restarted" || reason === "expired" || reason === "overflow" || reason === "unclear";
  return {
    since: typeof data.since === "number" ? data.since : undefined,
    seq: numberOf(data.seq),
    reason: known ? reason : "expired",
  };
}

function positionsOf(value: unknown): readonly { readonly subscriptionId: string; readonly seq: number }[] {
  if (!Array.isArray(value)) return [];
  return value
    .filter(isObject)
    .map(({ subscriptionId, seq }) => ({ subscriptionId: textOf(subscriptionId), seq: numberOf(seq) }));
}

function textOf(value: unknown, otherwise = ""): string {
  return typeof value === "string" ? value : otherwise;
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function textsOf(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((each) => typeof each === "string") ? value : undefined;
}
