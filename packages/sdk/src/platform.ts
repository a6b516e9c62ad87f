import type { AsyncContext } from "./calls/async-context.ts";
import type { ChannelStreams } from "./channels/channel-host.ts";
import type { Clock } from "./clock.ts";
import type { LeaveEngine } from "./connection/leave-engine.ts";
import type { OpenSocket } from "./connection/socket.ts";
import type { CronPart } from "./cron/worker-cron.ts";
import type { HttpPart } from "./http/http.ts";
import type { Logger } from "./logger.ts";
import type { Part } from "./on-demand.ts";
import type { RuntimeInfo } from "./options.ts";
import type { QueuePart } from "./queue/worker-queue.ts";
import type { StateTransfer } from "./state/worker-state.ts";
import type { CreateTelemetrySink } from "./telemetry/telemetry-sink.ts";
import type { ProcessStats } from "./telemetry/worker-gauges.ts";

/** Platform-specific parts of a worker. */
export interface Platform {
  readonly openSocket: OpenSocket;
  readonly channels: Part<ChannelStreams>;
  readonly provider: Part<typeof import("./registration/provider.ts")>;
  readonly http: Part<HttpPart>;
  /** Implements `worker.queue` and `worker.cron`, which few pages use. */
  readonly queueAndCron: Part<QueuePart & CronPart>;
  readonly stateTransfer: Part<StateTransfer>;
  readonly frameTexts: Part<typeof import("./connection/frame-texts.ts")>;
  /** Creates the object that moves the worker to another engine. Undefined in pages. */
  readonly leaving?: (
    ...parts: ConstructorParameters<typeof LeaveEngine> extends [...infer Parts, Clock] ? Parts : never
  ) => LeaveEngine;
  readonly asyncContext: AsyncContext;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly random?: (() => number) | undefined;
  readonly runtimeInfo: RuntimeInfo;
  readonly name: string;
  readonly logger: Logger;
  readonly telemetry: {
    /** True if telemetry is sent by default. */
    readonly byDefault: boolean;
    /** Value of the variable `SVC_TELEMETRY`. */
    readonly variable: string | undefined;
    readonly createSink: CreateTelemetrySink;
  };
  /** Undefined if the platform cannot measure its process. */
  readonly stats?: ProcessStats | undefined;
  /** Returns true if the workers shut down because the process is ending. By default, it is never the case. */
  readonly processIsEnding?: (() => boolean) | undefined;
}
