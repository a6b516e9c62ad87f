import type { IngestSource, ModuleContext, Signal } from "@svc-runtime/engine/module";
import type { ObservabilityConfig } from "../config.ts";
import { DROP_SIGNALS, type DropCounter, type LogSink, type MetricSink, type SpanSink } from "../telemetry-records.ts";
import type { Ingest } from "./ingest.ts";
import type { RecordRate } from "./record-rate.ts";

/** Maximum size of frames that wait while the decoder is loaded, in bytes. */
const MAX_EARLY_BYTES = 16 * 1024 * 1024;
/** Maximum time for which a stop continues to decode, in milliseconds. */
const STOP_MS = 500;

type Config = Pick<ObservabilityConfig, "otlp_receiver">;

export interface OtlpParts {
  readonly spans: SpanSink;
  readonly logs: LogSink;
  readonly metrics: MetricSink;
  readonly drops: DropCounter;
  /** Limits the number of records from restricted principals. */
  readonly rate: RecordRate;
}

/** A source of telemetry, as `engine::telemetry::status` shows it. */
export interface ReceiverState {
  readonly kind: "worker" | "otlp_http";
  readonly address: string | null;
  readonly state: "listening" | "off";
  readonly accepted: number;
  readonly refused: number;
}

export interface Otlp {
  /** Takes a frame. It never blocks or throws. */
  ingest(signal: Signal, body: Uint8Array, source: IngestSource): void;
  receivers(): readonly ReceiverState[];
  /**
   * Applies a changed config. Rejects if the receiver's address cannot be bound; the previous listener stays open then.
   */
  reconfigure(next: Config): Promise<void>;
  stop(): void;
}

/** Opens the receiver if it is enabled. The decoder is loaded only when the first telemetry arrives. */
export async function startOtlp(context: ModuleContext<Config>, sinks: OtlpParts): Promise<Otlp> {
  const { clock, directory, log, nodes } = context;
  let config: Config = context.config;
  let ingest: Ingest | undefined;
  let take: typeof import("./worker-frames.ts").takeFrame | undefined;
  let loading: Promise<Ingest> | undefined;
  let earlyBytes = 0;
  let open:
    | {
        readonly accepted: () => { readonly accepted: number; readonly refused: number };
        readonly address: string;
        readonly close: () => void;
      }
    | undefined;

  function load(): Promise<Ingest> {
    loading ??= Promise.all([import("./ingest.ts"), import("./worker-frames.ts")]).then(
      ([{ Ingest }, { takeFrame }]) => {
        take = takeFrame;
        ingest = new Ingest({ ...sinks, now: () => clock.now(), node: nodes?.name });
        return ingest;
      },
    );
    return loading;
  }

  function ingestEarly(signal: Signal, body: Uint8Array, source: IngestSource): void {
    if (earlyBytes + body.byteLength > MAX_EARLY_BYTES) {
      sinks.drops.dropped(DROP_SIGNALS[signal], "ingest_queue_full", 1);
      return;
    }
    earlyBytes += body.byteLength;
    load()
      .then((loaded) => take?.(loaded, directory, signal, body, source))
      .catch((error: unknown) => log.error("telemetry could not be decoded", { error }))
      .finally(() => {
        earlyBytes -= body.byteLength;
      });
  }

  async function serve({ otlp_receiver: next }: Config): Promise<void> {
    const before = open;
    if (next === undefined || !next.enabled) {
      open = undefined;
      before?.close();
      return;
    }
    const [loaded, { openReceiver }] = await Promise.all([load(), import("./receiver.ts")]);
    const { receiver, listener } = await openReceiver((options) => context.listen(options), next, {
      ingest: loaded,
      directory,
      drops: sinks.drops,
    });
    open = { accepted: () => receiver.counts, address: `${next.host}:${listener.port}`, close: () => listener.close() };
    before?.close();
  }

  await serve(config);
  return {
    ingest(signal, body, source) {
      if (ingest === undefined || take === undefined) ingestEarly(signal, body, source);
      else take(ingest, directory, signal, body, source);
    },
    receivers() {
      const http = open?.accepted() ?? { accepted: 0, refused: 0 };
      const all = ingest?.counts ?? { accepted: 0, refused: 0 };
      return [
        {
          kind: "worker",
          address: null,
          state: "listening",
          accepted: all.accepted - http.accepted,
          refused: Math.max(0, all.refused - http.refused),
        },
        { kind: "otlp_http", address: open?.address ?? null, state: open === undefined ? "off" : "listening", ...http },
      ];
    },
    async reconfigure(next) {
      if (JSON.stringify(next.otlp_receiver) !== JSON.stringify(config.otlp_receiver)) await serve(next);
      config = next;
    },
    stop() {
      open?.close();
      ingest?.stop(STOP_MS);
    },
  };
}
