import type { Scope } from "./scope.ts";
import type { Streams } from "./stream-contract.ts";

/**
 * Returns the streams for one module. Everything that the module provides through them ends with the module's scope.
 */
export function moduleStreams(hub: Streams, scope: Scope): Streams {
  return {
    provideSystemStream(spec) {
      const stream = hub.provideSystemStream(spec);
      const stop = scope.add(stream.stop);
      return {
        publish: (event) => stream.publish(event),
        get subscribers() {
          return stream.subscribers;
        },
        onDemand: (listener) => stream.onDemand(listener),
        stop,
      };
    },
    serveUserStreams(source) {
      const publisher = hub.serveUserStreams(source);
      return {
        publish: (event) => publisher.publish(event),
        resync: (stream, group) => publisher.resync(stream, group),
        stop: scope.add(publisher.stop),
      };
    },
    list: () => hub.list(),
  };
}
