import { endOfValue } from "@svc/protocol/json-text";

/** A message as `svc.stream.messages` tells of it. */
export interface TappedMessage {
  readonly direction: "inbound" | "outbound";
  readonly timestamp: number;
  readonly connection_id: string;
  readonly stream: string | null;
  readonly group: string | null;
  readonly type: string;
  /** Of the whole message. */
  readonly bytes: number;
  readonly payload: string;
  readonly truncated: boolean;
}

/** What passed while anybody watched, as the engine counted it. */
export interface TapTotals {
  readonly inbound: number;
  readonly outbound: number;
  readonly inbound_bytes: number;
  readonly outbound_bytes: number;
}

export interface TappedBatch {
  readonly messages: readonly TappedMessage[];
  /** Comes with the last batch of a tenth of a second. */
  readonly totals?: TapTotals;
}

export interface MonitorMessage extends TappedMessage {
  readonly kind: "message";
  readonly id: string;
  /** Counts up by one for each row of this page. */
  readonly seq: number;
}

/** A row that tells of the monitor itself. */
export interface Marker extends MarkerFacts {
  readonly kind: "marker";
  readonly id: string;
  readonly seq: number;
}

export interface MarkerFacts {
  /** `away`: the page was elsewhere, or not connected. `gap`: the engine left messages out for it. */
  readonly what: "paused" | "away" | "gap";
  readonly timestamp: number;
  /** Undefined while it lasts, and for a gap. */
  readonly untilMs?: number;
  readonly reason?: string;
  /** Of a pause: what came meanwhile, and what of it is no longer kept. */
  readonly received?: number;
  readonly lost?: number;
}

export type MonitorRow = MonitorMessage | Marker;

/** What carries data; all else is the connection's own talk (join, heartbeat, …). */
const DATA_TYPES: ReadonlySet<string> = new Set(["sync", "create", "update", "delete", "event", "unauthorized"]);

export function isConnectionEvent({ type }: TappedMessage): boolean {
  return !DATA_TYPES.has(type);
}

export function isSystemStream(stream: string | null): boolean {
  return stream?.startsWith("svc.") === true;
}

/** The message's own words, without what is the same in all of them. */
export function previewOf({ payload, type, truncated }: TappedMessage): string {
  const marker = type === "event" ? '"event":{"type":"event","event":' : `"event":{"type":"${type}","data":`;
  const at = payload.indexOf(marker);
  if (at < 0) return payload;
  const rest = payload.slice(at + marker.length);
  return truncated ? rest : rest.slice(0, endOfValue(rest, 0));
}

/** The item that a message is about; null where it is about none, or its text was cut before it. */
export function itemOf({ payload }: TappedMessage): string | null {
  // The engine writes `id` before `event`, so that this is no member of the user's data.
  const at = payload.indexOf('"event":{');
  const found = /"id":("(?:[^"\\]|\\.)*")/.exec(at < 0 ? payload : payload.slice(0, at))?.[1];
  return found === undefined ? null : (JSON.parse(found) as string);
}

const DIFFED: ReadonlySet<string> = new Set(["create", "update"]);

/** The message of the same item before this one, as the same connection got it. */
export function previousOf(rows: readonly MonitorRow[], message: MonitorMessage): MonitorMessage | undefined {
  const item = itemOf(message);
  if (item === null || !DIFFED.has(message.type)) return undefined;
  for (let at = rows.length - 1; at >= 0; at--) {
    const row = rows[at] as MonitorRow;
    if (row.kind === "marker" || row.seq >= message.seq || row.connection_id !== message.connection_id) continue;
    if (row.stream === message.stream && row.group === message.group && DIFFED.has(row.type) && itemOf(row) === item) return row;
  }
  return undefined;
}

/** What is sent again: the event of a user's stream, whole. Undefined for anything else. */
export function resendOf(message: TappedMessage): { readonly type: string; readonly payloadJson: string } | undefined {
  const { stream, group, truncated, direction, type } = message;
  if (direction !== "outbound" || type !== "event" || truncated || stream === null || group === null || isSystemStream(stream)) return undefined;
  const event = previewOf(message);
  const name = /^\{"type":("(?:[^"\\]|\\.)*"),"data":/.exec(event);
  const [head = "", quotedType = ""] = name ?? [];
  if (name === null) return undefined;
  const data = event.slice(head.length, -1);
  const item = itemOf(message);
  const id = item === null ? "" : `,"id":${JSON.stringify(item)}`;
  return {
    type: JSON.parse(quotedType) as string,
    payloadJson: `{"stream_name":${JSON.stringify(stream)},"group_id":${JSON.stringify(group)}${id},"type":${quotedType},"data":${data}}`,
  };
}
