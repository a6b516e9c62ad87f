import type { Frame } from "@svc-runtime/protocol";
import type { StreamJoin } from "../kernel/stream-contract.ts";
import { asFrame, messageTail, openMessage } from "./event-message.ts";
import { HEARTBEAT_MS } from "./limits.ts";
import type { Subscription } from "./topic.ts";

export type GapReason = "restarted" | "expired" | "overflow" | "unclear";

/** The events that an extended client missed, and why. */
export interface Gap {
  /** The sequence number of the last event that the client received. */
  readonly since: number;
  readonly reason: GapReason;
}

function message(type: string, data: unknown): Frame {
  return asFrame(JSON.stringify({ type, data }));
}

export function welcome(connectionId: string, epoch: string): Frame {
  return message("welcome", { connectionId, epoch, heartbeatMs: HEARTBEAT_MS });
}

export function joined({ subscriptionId, stream, group, id }: StreamJoin, seq: number, resumed: boolean): Frame {
  return message("joined", { subscriptionId, streamName: stream, groupId: group, id: id ?? null, seq, resumed });
}

export function left(subscriptionId: string): Frame {
  return message("left", { subscriptionId });
}

export function gapNotice({ subscriptionId, stream, group }: StreamJoin, { since, reason }: Gap, seq: number): Frame {
  return message("gap", { subscriptionId, streamName: stream, groupId: group, since, seq, reason });
}

export function problem(code: string, text: string, subscriptionId?: string): Frame {
  return message("error", { code, message: text, ...(subscriptionId === undefined ? {} : { subscriptionId }) });
}

export function heartbeat(timestamp: number, live: readonly Subscription[]): Frame {
  const positions = live.map(({ join, topic }) => ({ subscriptionId: join.subscriptionId, seq: topic?.seq ?? 0 }));
  return asFrame(JSON.stringify({ type: "heartbeat", timestamp, positions }));
}

export const PONG: Frame = '{"type":"pong"}';

/** Returns the snapshot message for one subscription. `more` is undefined for a plain client. */
export function sync(
  subscription: Subscription,
  json: string,
  timestamp: number,
  more: { readonly seq: number; readonly itemIds: readonly string[] | undefined } | undefined,
): Frame {
  const opened = openStreamMessage(subscription.join, timestamp, `{"type":"sync","data":${json}}`);
  if (more === undefined) return asFrame(`${opened}}`);
  const ids = more.itemIds === undefined ? "" : `,"itemIds":${JSON.stringify(more.itemIds)}`;
  return asFrame(opened + ids + messageTail(more.seq, undefined, subscription.idJson));
}

export function unauthorized(join: StreamJoin, timestamp: number): Frame {
  return asFrame(`${openStreamMessage(join, timestamp, '{"type":"unauthorized"}')}}`);
}

function openStreamMessage({ stream, group, id }: StreamJoin, timestamp: number, event: string): string {
  return openMessage({ timestamp, stream, group, id: id ?? null }, event);
}
