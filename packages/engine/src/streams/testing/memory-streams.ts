import type { StreamEvent, StreamJoin, StreamSource } from "../../kernel/stream-contract.ts";
import type { StreamHub } from "../stream-hub.ts";

/** User-defined streams kept in maps, as a module would keep them. */
export interface MemoryStreams {
  /** Sets an item to this JSON and publishes that. Answers the event's number. */
  write(stream: string, group: string, id: string, json: string): number;
  remove(stream: string, group: string, id: string): number;
  publish(event: StreamEvent): number;
  resync(stream: string, group: string): void;
  /** Names of the subscriptions that ended, in order. */
  readonly left: string[];
  /** Joins that were asked about, in order. */
  readonly asked: StreamJoin[];
  stop(): void;
}

/** Keeps user-defined streams on the hub. `more` replaces parts of the source. */
export function memoryStreams(hub: StreamHub, more: Partial<StreamSource> = {}): MemoryStreams {
  const groups = new Map<string, Map<string, { json: string; version: number }>>();
  const versions = new Map<string, number>();
  const left: string[] = [];
  const asked: StreamJoin[] = [];
  const keyOf = (stream: string, group: string): string => JSON.stringify([stream, group]);
  const nextVersion = (stream: string, group: string, id: string): number => {
    const key = JSON.stringify([stream, group, id]);
    const version = (versions.get(key) ?? 0) + 1;
    versions.set(key, version);
    return version;
  };
  const source: StreamSource = {
    snapshot(stream, group, id) {
      const items = new Map(groups.get(keyOf(stream, group)) ?? []);
      const json =
        id === undefined
          ? `[${[...items]
              .sort(([a], [b]) => (a < b ? -1 : 1))
              .map(([, item]) => item.json)
              .join(",")}]`
          : (items.get(id)?.json ?? "null");
      return Promise.resolve({ json, versionOf: (wanted: string) => items.get(wanted)?.version });
    },
    authenticate: undefined,
    admit(join) {
      asked.push(join);
      return Promise.resolve(undefined);
    },
    left: ({ subscriptionId }) => left.push(subscriptionId),
    groups: () =>
      Promise.resolve(
        [...groups].map(([key, items]) => {
          const [stream, group] = JSON.parse(key) as [string, string];
          return { stream, group, items: items.size };
        }),
      ),
    ...more,
  };
  const publisher = hub.serveUserStreams(source);
  return {
    left,
    asked,
    publish: (event) => publisher.publish(event),
    resync: (stream, group) => publisher.resync(stream, group),
    stop: () => publisher.stop(),
    write(stream, group, id, json) {
      let items = groups.get(keyOf(stream, group));
      if (items === undefined) {
        items = new Map();
        groups.set(keyOf(stream, group), items);
      }
      const type = items.has(id) ? "update" : "create";
      const version = nextVersion(stream, group, id);
      items.set(id, { json, version });
      return publisher.publish({ stream, group, id, type, json, version });
    },
    remove(stream, group, id) {
      const json = groups.get(keyOf(stream, group))?.get(id)?.json ?? "null";
      groups.get(keyOf(stream, group))?.delete(id);
      return publisher.publish({ stream, group, id, type: "delete", json, version: nextVersion(stream, group, id) });
    },
  };
}
