import type { AsyncContext } from "./active-call.ts";
import type { OpenChannelSocket } from "./channels/channel-socket.ts";
import type { Clock } from "./clock.ts";
import type { Logger } from "./logger.ts";
import type { RuntimeInfo } from "./options.ts";
import type { OpenSocket } from "./socket.ts";
import type { ProcessStats } from "./telemetry/worker-gauges.ts";

/** Platform-specific parts of a worker. */
export interface Platform {
  readonly openSocket: OpenSocket;
  readonly openChannelSocket: OpenChannelSocket;
  readonly asyncContext: AsyncContext;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly random?: (() => number) | undefined;
  readonly runtimeInfo: RuntimeInfo;
  readonly name: string;
  readonly logger: Logger;
  /** Whether telemetry is sent by default, and the value of the variable `SVC_TELEMETRY`. */
  readonly telemetry: { readonly byDefault: boolean; readonly variable: string | undefined };
  /** Absent if the platform cannot measure its process. */
  readonly stats?: ProcessStats | undefined;
  /** Whether the workers shut down because the process ends. Default: never. */
  readonly processIsEnding?: (() => boolean) | undefined;
}
