import type { CallerAccess } from "./module.ts";
import type { Undo } from "./scope.ts";

/** What happened in a group of a stream. */
export interface StreamEvent {
  readonly stream: string;
  readonly group: string;
  /** The item; null for an event of the whole group. */
  readonly id: string | null;
  readonly type: "create" | "update" | "delete" | "event";
  /** JSON of the event's `data`; for type `event` the JSON of `{type, data}`, which travels as its `event`. */
  readonly json: string;
  /** Of the item, where it has versions. */
  readonly version: number | undefined;
}

/** One subscription of a client, as its join named it. */
export interface StreamJoin {
  readonly subscriptionId: string;
  readonly stream: string;
  readonly group: string;
  /** Undefined: the whole group. */
  readonly id: string | undefined;
  /** What the authentication of the connection answered as `context`; null without one. */
  readonly context: unknown;
}

/** A client that wants to open a connection. */
export interface StreamClient {
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly path: string;
  /** Percent-decoded. */
  readonly query: Readonly<Record<string, readonly string[]>>;
  /** `ip:port`. */
  readonly address: string;
  /** It gave the engine's token. */
  readonly trusted: boolean;
}

export type StreamAuthentication =
  | { readonly ok: true; readonly context: unknown /** It may join the engine's own streams. */; readonly systemStreams: boolean }
  /** 4401: who it is cannot be told; 4403: it may not. */
  | { readonly ok: false; readonly code: 4401 | 4403; readonly reason: string };

/** What there is of a group, or of one item of it, at one moment. */
export interface StreamSnapshot {
  /** Of a group the array of its items' values in the order of ids, of one item its value or `null`. */
  readonly json: string;
  /** Version of an item as `json` has it; undefined for one that it does not have. Without it an event that `json` holds already may be sent again behind it. */
  readonly versionOf: ((id: string) => number | undefined) | undefined;
  /** Of a group: the ids of its items, in the order of `json`, for clients that keep items by id; absent where they are not known. */
  readonly itemIds?: () => readonly string[];
}

/** Whoever keeps the user-defined streams. */
export interface StreamSource {
  /** Read after every write that was answered. Rejecting with a CallError ends the join with its code. */
  snapshot(stream: string, group: string, id: string | undefined): Promise<StreamSnapshot>;
  /** Asked for each connection that did not give the engine's token, when the source has an authentication; without `authenticate` everyone is let in. */
  readonly authenticate: ((client: StreamClient) => Promise<StreamAuthentication>) | undefined;
  /** Asked before a join is done; a refusal is told to the client. Rejecting refuses. */
  admit(join: StreamJoin): Promise<{ readonly refusal: string } | undefined>;
  /** A subscription has ended: by a leave, or with its connection. Told once for each join that was admitted. */
  left(join: StreamJoin): void;
  /** Every stream and group that holds an item, or as many as can be listed; others appear in listings while they have subscribers. */
  groups(): Promise<readonly { readonly stream: string; readonly group: string; readonly items: number }[]>;
}

/** What the keeper of user-defined streams is given. */
export interface StreamPublisher {
  /** Numbers the event, keeps it for those who come back, and sends it to its subscribers. Answers its sequence number in (stream, group); 0, having done nothing, once it is stopped. Throws TypeError for a system stream. */
  publish(event: StreamEvent): number;
  /**
   * Something may have changed in the group that no event tells of. Its number moves on, nobody resumes across that, and whoever has joined is sent what
   * there is: at most once a second, and when the group cannot be read, as soon as it can. Does nothing once it is stopped. Throws TypeError for a system stream.
   */
  resync(stream: string, group: string): void;
  readonly stop: Undo;
}

export interface SystemStreamSpec {
  /** Begins with `svc.`, e.g. `svc.metrics`. Its one group is `all`. */
  readonly name: string;
  readonly summary: string;
  /** JSON of what a joining client gets: the array of all items, or with `id` that item or `null`. `access`: what a restricted client may see. */
  snapshot(id: string | undefined, access: CallerAccess | undefined): string;
}

/** A stream of the engine itself, held by the module that publishes it. */
export interface SystemStream {
  publish(event: Pick<StreamEvent, "id" | "type" | "json">): void;
  /** Without any, publishing does nothing: a module need not make what nobody sees. */
  readonly subscribers: number;
  /** Calls `listener` when the number of subscribers has become zero or has been zero. */
  onDemand(listener: (wanted: boolean) => void): Undo;
  readonly stop: Undo;
}

export interface StreamGroupView {
  readonly group_id: string;
  /** Null where the stream keeps none, or nobody counted. */
  readonly items: number | null;
  readonly subscribers: number;
}

/** One stream as listings show it. */
export interface StreamView {
  readonly name: string;
  readonly type: "user" | "system";
  readonly groups: readonly StreamGroupView[];
  /** Subscriptions of all groups. */
  readonly subscribers: number;
}

/** The part of `ModuleContext` about streams on the real-time listener. */
export interface Streams {
  /** Throws TypeError for a name that is taken or does not begin with `svc.`. */
  provideSystemStream(spec: SystemStreamSpec): SystemStream;
  /**
   * Takes over the user-defined streams. One module at a time does; without any, joining one is refused with a hint. Connections that `source` would have
   * authenticated are closed (1012), so that they come again; so are those that use it when it stops.
   */
  serveUserStreams(source: StreamSource): StreamPublisher;
  /** All streams, by name. */
  list(): Promise<readonly StreamView[]>;
}
