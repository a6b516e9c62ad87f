import type { Undo } from "@svc-runtime/engine/module";
import type { SpanRecord, SpanSink } from "./telemetry-records.ts";

/** Passes each span to several sinks, for example the store and an exporter. */
export class SpanFanOut implements SpanSink {
  #sinks: readonly SpanSink[] = [];

  add(sink: SpanSink): Undo {
    this.#sinks = [...this.#sinks, sink];
    return () => {
      this.#sinks = this.#sinks.filter((other) => other !== sink);
    };
  }

  started(span: SpanRecord): void {
    for (const sink of this.#sinks) sink.started(span);
  }

  ended(span: SpanRecord): void {
    for (const sink of this.#sinks) sink.ended(span);
  }
}
