import type { ModuleContext } from "../../../kernel/module.ts";
import type { IngestSource, Signal } from "../../../kernel/telemetry-contract.ts";
import type { ObservabilityConfig } from "../config.ts";
import type { Ingest, IngestSinks } from "./ingest.ts";

/** What comes from outside: frames of workers and, where the config asks for it, OTLP over HTTP. */
export interface RunningIngest {
  /** Takes a frame. */
  readonly take: (signal: Signal, body: Uint8Array, source: IngestSource) => void;
  stop(): void;
}

/** How long a stop reads on what has come, in milliseconds. */
const FLUSH_MS = 500;
/** Bytes of frames that wait for the code that reads them. */
const MAX_EARLY_BYTES = 16 * 1024 * 1024;

/** Loads the code for it when the first frame comes, or at once for the receiver. */
export async function startIngest(context: ModuleContext<ObservabilityConfig>, sinks: IngestSinks): Promise<RunningIngest> {
  const { directory, config, log } = context;
  type Reading = { readonly ingest: Ingest; readonly takeFrame: typeof import("./frames.ts")["takeFrame"] };
  let loaded: Reading | undefined;
  let loading: Promise<Reading> | undefined;
  let earlyBytes = 0;
  const load = (): Promise<Reading> => {
    loading ??= Promise.all([import("./ingest.ts"), import("./frames.ts")]).then(([{ Ingest }, { takeFrame }]) => {
      loaded = { ingest: new Ingest(sinks), takeFrame };
      return loaded;
    });
    return loading;
  };
  let close = (): void => {};
  const { otlp_receiver: receiver } = config;
  if (receiver?.enabled === true) {
    const { ingest } = await load();
    const { openReceiver } = await import("./receiver.ts");
    const { listener } = await openReceiver((options) => context.listen(options), receiver, { ingest, directory, drops: sinks.drops });
    close = () => void listener.close();
  }
  return {
    take(signal, body, source) {
      if (loaded !== undefined) {
        loaded.takeFrame(loaded.ingest, directory, signal, body, source);
        return;
      }
      if (earlyBytes + body.byteLength > MAX_EARLY_BYTES) {
        sinks.drops.dropped(signal === "traces" ? "spans" : signal, "ingest_queue_full", 1);
        return;
      }
      earlyBytes += body.byteLength;
      load().then(
        ({ ingest, takeFrame }) => takeFrame(ingest, directory, signal, body, source),
        (error: unknown) => log.error("telemetry from outside cannot be read", { error }),
      );
    },
    stop() {
      close();
      loaded?.ingest.stop(FLUSH_MS);
    },
  };
}
