import type { Ambient } from "./active-call.ts";
import type { OpenChannelSocket } from "./channels/channel-socket.ts";
import type { Clock } from "./clock.ts";
import type { Logger } from "./logger.ts";
import type { Greeting } from "./options.ts";
import type { OpenSocket } from "./socket.ts";
import type { ProcessFigures } from "./telemetry/worker-gauges.ts";

/** What a platform brings along. */
export interface Platform {
  readonly openSocket: OpenSocket;
  readonly openChannelSocket: OpenChannelSocket;
  readonly ambient: Ambient;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly random?: (() => number) | undefined;
  readonly greeting: Greeting;
  readonly name: string;
  readonly logger: Logger;
  /** Whether telemetry is sent where the options do not say, and what the variable `SVC_TELEMETRY` says. */
  readonly telemetry: { readonly byDefault: boolean; readonly variable: string | undefined };
  /** Absent: the platform cannot tell how its process is. */
  readonly figures?: ProcessFigures | undefined;
  /** The workers are being shut down because the process ends. Default: never. */
  readonly processIsEnding?: (() => boolean) | undefined;
}
