import { Payload } from "@svc-runtime/protocol";
import type { StreamSnapshot } from "../../kernel/stream-contract.ts";
import type { HookedStreams } from "./hooked-streams.ts";
import type { Hooks } from "./hooks.ts";
import type { StoredStreams } from "./stored-streams.ts";
import type { Cause, GroupAddress, StreamBackend } from "./stream-backend.ts";
import type { StreamEvents } from "./stream-events.ts";

/** All user-defined streams, stored or hooked. */
export class UserStreams {
  readonly #hooks: Hooks;
  readonly #stored: StoredStreams;
  readonly #hooked: HookedStreams;
  readonly #events: StreamEvents;

  constructor(options: {
    readonly hooks: Hooks;
    readonly stored: StoredStreams;
    readonly hooked: HookedStreams;
    readonly events: StreamEvents;
  }) {
    this.#hooks = options.hooks;
    this.#stored = options.stored;
    this.#hooked = options.hooked;
    this.#events = options.events;
  }

  backendOf(stream: string): StreamBackend {
    return this.#hooks.isHooked(stream) ? this.#hooked : this.#stored;
  }

  /** Sends an event that is not stored. Throws `invalid_input` and `payload_too_large`. */
  send(
    { stream, group }: GroupAddress,
    event: { readonly id: string | null; readonly type: string; readonly data: Payload },
    cause: Cause,
  ): void {
    const { json } = this.#stored.dataJson(event.data);
    const inner = `{"type":${JSON.stringify(event.type)},"data":${json}}`;
    this.#events.publish({ stream, group, id: event.id, type: "event", json: inner, version: undefined }, cause);
  }

  /** Returns the snapshot for a client that joins. */
  async snapshot(stream: string, group: string, id: string | undefined): Promise<StreamSnapshot> {
    if (!this.#hooks.isHooked(stream)) return this.#stored.snapshot({ stream, group }, id);
    const cause: Cause = { traceparent: undefined, baggage: undefined };
    const payload = await (id === undefined
      ? this.#hooked.list({ stream, group }, cause)
      : this.#hooked.get({ stream, group, id }, cause));
    return { json: payload.text(), versionOf: undefined };
  }

  /** Returns `{stream: [{id, groups}], count}`: the non-empty stored streams. Hooked streams are not included. */
  async listAll(): Promise<Payload> {
    const streams = [...(await this.#stored.listAll())].map(([id, groups]) => ({ id, groups }));
    return Payload.fromValue({ stream: streams, count: streams.length });
  }
}
