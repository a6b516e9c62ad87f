import type { Frame } from "@svc-runtime/protocol";
import type { StreamEvent } from "../kernel/stream-contract.ts";

/** An event with its sequence number in its group. */
export interface NumberedEvent extends StreamEvent {
  /** Within (stream, group), from 1. */
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  /** Size of `json` in UTF-8 bytes. */
  readonly bytes: number;
}

/**
 * Frames up to this many characters are passed on as strings, because the transport joins small strings. Larger frames
 * are encoded once, and all sockets share the bytes.
 */
const MAX_TEXT_FRAME = 16 * 1024;
/** Maximum number of subscription lists whose frames are cached while an event is sent. */
const MAX_REMEMBERED = 64;

/**
 * An event that is being sent. It is serialized once for all plain clients, and once for each list of subscriptions.
 */
export class OutgoingEvent {
  readonly event: NumberedEvent;
  readonly #body: string;
  readonly #byIds = new Map<string, Frame>();
  #bodyBytes: Buffer | undefined;
  #plain: Frame | undefined;

  constructor(event: NumberedEvent) {
    this.event = event;
    this.#body = openMessage(event, eventMember(event));
  }

  /** The frame of the published protocol. */
  get plain(): Frame {
    this.#plain ??= asFrame(`${this.#body}}`);
    return this.#plain;
  }

  /**
   * Returns the frame for an extended client, with sequence number, version and subscription ids. `ids` are the ids as
   * JSON strings, separated by commas.
   */
  extended(ids: string): Frame {
    let frame = this.#byIds.get(ids);
    if (frame !== undefined) return frame;
    const tail = messageTail(this.event.seq, this.event.version, ids);
    if (this.#body.length <= MAX_TEXT_FRAME) {
      frame = asFrame(this.#body + tail);
    } else {
      this.#bodyBytes ??= Buffer.from(this.#body);
      frame = [this.#bodyBytes, Buffer.from(tail)];
    }
    if (this.#byIds.size < MAX_REMEMBERED) this.#byIds.set(ids, frame);
    return frame;
  }
}

function eventMember({ type, json }: StreamEvent): string {
  return type === "event" ? `{"type":"event","event":${json}}` : `{"type":"${type}","data":${json}}`;
}

/** Returns a stream message without its closing brace. `event` is JSON. */
export function openMessage(
  about: { timestamp: number; stream: string; group: string; id: string | null },
  event: string,
): string {
  const { timestamp, stream, group, id } = about;
  return `{"type":"stream","timestamp":${timestamp},"streamName":${JSON.stringify(stream)},"groupId":${JSON.stringify(group)},"id":${JSON.stringify(id)},"event":${event}`;
}

/** Returns the end of a message for extended clients: the additional members and the closing brace. */
export function messageTail(seq: number, version: number | undefined, ids: string): string {
  return `,"seq":${seq}${version === undefined ? "" : `,"version":${version}`},"subscriptionIds":[${ids}]}`;
}

export function asFrame(text: string): Frame {
  return text.length <= MAX_TEXT_FRAME && Buffer.byteLength(text) === text.length ? text : [Buffer.from(text)];
}
