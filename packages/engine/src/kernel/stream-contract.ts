import type { CallerAccess } from "./access-contract.ts";
import type { Undo } from "./scope.ts";

/** An event in a group of a stream. */
export interface StreamEvent {
  readonly stream: string;
  readonly group: string;
  /** Id of the item; null for an event of the whole group. */
  readonly id: string | null;
  readonly type: "create" | "update" | "delete" | "event";
  /** JSON of the event's `data`. For type `event`: JSON of `{type, data}`, which is sent as its `event`. */
  readonly json: string;
  /** Version of the item, if it has versions. */
  readonly version: number | undefined;
}

/** A subscription of a client, as its join message describes it. */
export interface StreamJoin {
  readonly subscriptionId: string;
  readonly stream: string;
  readonly group: string;
  /** Undefined: the whole group. */
  readonly id: string | undefined;
  /** `context` from the authentication of the connection; null if there was no authentication. */
  readonly context: unknown;
}

/** A client that opens a connection. */
export interface StreamClient {
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly path: string;
  /** Percent-decoded. */
  readonly query: Readonly<Record<string, readonly string[]>>;
  /** `ip:port`. */
  readonly address: string;
  /** True if the client sent the engine's token. */
  readonly trusted: boolean;
}

export type StreamAuthentication =
  | {
      readonly ok: true;
      readonly context: unknown;
      /** True if the client may join the engine's own streams. */
      readonly systemStreams: boolean;
    }
  /** 4401: the client's identity is unknown. 4403: access denied. */
  | { readonly ok: false; readonly code: 4401 | 4403; readonly reason: string };

/** The content of a group, or of one item of it, at one moment. */
export interface StreamSnapshot {
  /**
   * For a group: JSON of the array of its values, in the order of their ids. For one item: JSON of its value or `null`.
   */
  readonly json: string;
  /**
   * Returns the version of an item in `json`; undefined if `json` does not have the item. Without this function, an
   * event may be sent after the snapshot although `json` already contains its change.
   */
  readonly versionOf: ((id: string) => number | undefined) | undefined;
  /**
   * For a group: the ids of its items in the order of `json`, for clients that store items by id. Absent if the ids are
   * not known.
   */
  readonly itemIds?: () => readonly string[];
}

/** The provider of the user-defined streams. */
export interface StreamSource {
  /** Reads a group or item after all completed writes. Rejecting with a CallError ends the join with its code. */
  snapshot(stream: string, group: string, id: string | undefined): Promise<StreamSnapshot>;
  /** Authenticates each connection without the engine's token. Undefined: all connections are accepted. */
  readonly authenticate: ((client: StreamClient) => Promise<StreamAuthentication>) | undefined;
  /**
   * Checks a join. Resolves with a refusal, which the client receives, or with undefined if the join is admitted. If it
   * rejects, the join is refused as well.
   */
  admit(join: StreamJoin): Promise<{ readonly refusal: string } | undefined>;
  /**
   * Called when an admitted subscription has ended, by a leave or with its connection. Called once for each admitted
   * join.
   */
  left(join: StreamJoin): void;
  /**
   * Returns all streams and groups with items, or as many as can be listed. Other groups are listed while they have
   * subscribers.
   */
  groups(): Promise<readonly { readonly stream: string; readonly group: string; readonly items: number }[]>;
}

/** Publishes events of user-defined streams. */
export interface StreamPublisher {
  /**
   * Numbers the event, buffers it for clients that resume, and sends it to its subscribers. Returns the event's
   * sequence number within (stream, group), or 0 if the publisher has stopped. Throws TypeError for a system stream.
   */
  publish(event: StreamEvent): number;
  /**
   * Resynchronizes a group that may have changed without an event. Its sequence number advances, and no client can
   * resume from an earlier number. All subscribers get the content of the group: at most once a second, and later if
   * the group cannot be read now. Does nothing if the publisher has stopped. Throws TypeError for a system stream.
   */
  resync(stream: string, group: string): void;
  readonly stop: Undo;
}

export interface SystemStreamSpec {
  /** Begins with `svc.`, e.g. `svc.metrics`. Its only group is `all`. */
  readonly name: string;
  readonly summary: string;
  /**
   * Returns the JSON for a client that joins: the array of all items, or, if `id` is given, that item or `null`.
   * `access`: the permissions of a restricted client.
   */
  snapshot(id: string | undefined, access: CallerAccess | undefined): string;
}

/** An engine stream, as the module that publishes it sees it. */
export interface SystemStream {
  publish(event: Pick<StreamEvent, "id" | "type" | "json">): void;
  /** Number of subscribers. At 0, publishing does nothing, so a module need not compute events. */
  readonly subscribers: number;
  /** Calls `listener` with true when the first subscriber has joined, and with false when the last one has left. */
  onDemand(listener: (wanted: boolean) => void): Undo;
  readonly stop: Undo;
}

export interface StreamGroupView {
  readonly group_id: string;
  /** Null if the stream stores no items, or the number is unknown. */
  readonly items: number | null;
  readonly subscribers: number;
}

/** A stream as listings show it. */
export interface StreamView {
  readonly name: string;
  readonly type: "user" | "system";
  readonly groups: readonly StreamGroupView[];
  /** Number of subscriptions of all groups. */
  readonly subscribers: number;
}

/** The part of `ModuleContext` about streams on the real-time listener. */
export interface Streams {
  /** Throws TypeError if the name is taken or does not begin with `svc.`. */
  provideSystemStream(spec: SystemStreamSpec): SystemStream;
  /**
   * Makes this module the provider of the user-defined streams. There can be only one provider. Without one, joins are
   * refused with a hint. Connections that `source` must authenticate are closed with 1012, so that they reconnect. When
   * the provider stops, the connections that use its streams are closed too.
   */
  serveUserStreams(source: StreamSource): StreamPublisher;
  /** All streams, sorted by name. */
  list(): Promise<readonly StreamView[]>;
}
