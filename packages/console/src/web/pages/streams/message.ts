import { endOfValue } from "@svc-runtime/protocol/json-text";
import type { TappedMessage, TapTotals } from "@svc-runtime/protocol/listings";

export interface TappedBatch {
  readonly messages: readonly TappedMessage[];
  /** Totals. They are sent with the last batch of each 100 ms. */
  readonly totals?: TapTotals;
}

export interface MonitorMessage extends TappedMessage {
  readonly kind: "message";
  readonly id: string;
  /** Sequence number. It increases by one for each row of the log. */
  readonly seq: number;
}

/** A row about the monitor itself, for example about a pause. */
export interface Marker extends MarkerFacts {
  readonly kind: "marker";
  readonly id: string;
  readonly seq: number;
}

export interface MarkerFacts {
  /** Kind of marker. `away`: the page was left or was not connected. `gap`: the engine skipped messages. */
  readonly what: "paused" | "away" | "gap";
  readonly timestamp: number;
  /** End of the time that the marker is about. Undefined while that lasts, and always for a gap. */
  readonly untilMs?: number;
  readonly reason?: string;
  /**
   * Number of messages that arrived during a pause. `lost` is the number of them that were evicted. Both are set after
   * the pause.
   */
  readonly received?: number;
  readonly lost?: number;
}

export type MonitorRow = MonitorMessage | Marker;

/** Types of messages with data. Messages of all other types are connection messages (join, heartbeat, …). */
const DATA_TYPES: ReadonlySet<string> = new Set(["sync", "create", "update", "delete", "event", "unauthorized"]);

export function isConnectionEvent({ type }: TappedMessage): boolean {
  return !DATA_TYPES.has(type);
}

export function isSystemStream(stream: string | null): boolean {
  return stream?.startsWith("svc.") === true;
}

/** Returns the data of a message without its envelope. If it has no data, returns the whole payload. */
export function previewOf({ payload, type, truncated }: TappedMessage): string {
  const marker = type === "event" ? '"event":{"type":"event","event":' : `"event":{"type":"${type}","data":`;
  const at = payload.indexOf(marker);
  if (at < 0) return payload;
  const rest = payload.slice(at + marker.length);
  return truncated ? rest : rest.slice(0, endOfValue(rest, 0));
}

const EVENT_HEAD = /^\{"type":("(?:[^"\\]|\\.)*"),"data":/;

/** Returns the data of a message for one row of the table. If an event has a name, the name comes first. */
export function lineOf(message: TappedMessage): string {
  const text = previewOf(message);
  const [head, name] = (message.type === "event" ? EVENT_HEAD.exec(text) : null) ?? [];
  if (head === undefined || name === undefined) return text;
  return `${JSON.parse(name)} ${message.truncated ? text.slice(head.length) : text.slice(head.length, -1)}`;
}

/** Returns the id of a message's item. Returns null if it has none, or if the message is truncated before the id. */
export function itemOf({ payload }: TappedMessage): string | null {
  // The engine writes `id` before `event`. Only this part is searched, so that an `id` in the user's data is never
  // found.
  const at = payload.indexOf('"event":{');
  const found = /"id":("(?:[^"\\]|\\.)*")/.exec(at < 0 ? payload : payload.slice(0, at))?.[1];
  return found === undefined ? null : (JSON.parse(found) as string);
}

const DIFFED: ReadonlySet<string> = new Set(["create", "update"]);

/** Returns the previous message about the same item on the same connection. */
export function previousOf(rows: readonly MonitorRow[], message: MonitorMessage): MonitorMessage | undefined {
  const item = itemOf(message);
  if (item === null || !DIFFED.has(message.type)) return undefined;
  for (let at = rows.length - 1; at >= 0; at--) {
    const row = rows[at] as MonitorRow;
    if (row.kind === "marker" || row.seq >= message.seq || row.connection_id !== message.connection_id) continue;
    if (row.stream === message.stream && row.group === message.group && DIFFED.has(row.type) && itemOf(row) === item)
      return row;
  }
  return undefined;
}

/**
 * Returns the payload of `stream::send` that sends an event again. Returns undefined if the message is not an event of
 * a user's stream, or if it is truncated.
 */
export function resendOf(message: TappedMessage): { readonly type: string; readonly payloadJson: string } | undefined {
  const { stream, group, truncated, direction, type } = message;
  if (
    direction !== "outbound" ||
    type !== "event" ||
    truncated ||
    stream === null ||
    group === null ||
    isSystemStream(stream)
  )
    return undefined;
  const event = previewOf(message);
  const name = EVENT_HEAD.exec(event);
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
