import type { ActiveCall, ActiveCallHost } from "./active-call.ts";
import type { Active, AsyncContext } from "./async-context.ts";
import { CallRunner } from "./call-runner.ts";
import type { Channels } from "./channels/channels.ts";
import type { Logger } from "./logger.ts";
import type { Part } from "./on-demand.ts";
import type { OutgoingCalls } from "./outgoing-calls.ts";
import type { Session } from "./session.ts";
import type { StateTransfer } from "./state/worker-state.ts";
import type { LogEntry } from "./telemetry/log-entry.ts";
import type { Spans } from "./telemetry/spans.ts";
import { workerLogger } from "./telemetry/worker-logger.ts";
import { TriggerProviders } from "./trigger-providers.ts";

/** Parts of a worker that its handlers use. */
export interface ProviderOptions {
  /** Name of the worker. */
  readonly name: string;
  /** The user's logger. */
  readonly userLogger: Logger;
  /** The worker's logger. */
  readonly logger: Logger;
  /** Receives the log lines of handlers. Undefined if they are not sent. */
  readonly logEntries: ((entry: LogEntry) => void) | undefined;
  readonly asyncContext: AsyncContext;
  readonly stateTransfer: Part<StateTransfer>;
  readonly session: Session;
  readonly channels: Channels;
  readonly calls: OutgoingCalls;
  readonly spans: Spans;
}

/** Runs what a worker provides: the handlers of its functions and of its trigger types. */
export class Provider {
  readonly calls: CallRunner;
  readonly triggers: TriggerProviders;

  constructor(options: ProviderOptions) {
    const { asyncContext, session, logger } = options;
    this.calls = new CallRunner({
      asyncContext,
      host: hostOf(options),
      answers: {
        answer: (invocationId, result) => session.answer(invocationId, result),
        fail: (invocationId, error) => session.fail(invocationId, error.toWire()),
      },
    });
    this.triggers = new TriggerProviders({
      logger,
      answer: (binding, error) => session.answerBinding(binding, error),
    });
  }
}

function hostOf(options: ProviderOptions): ActiveCallHost {
  const { name, userLogger, logger, logEntries, asyncContext, stateTransfer, channels, calls, spans } = options;
  /** Returns the running span of a call, or the call itself. */
  const within = (call: ActiveCall): Active => {
    const current = asyncContext.current();
    return current?.activeCall === call ? current : call;
  };
  return {
    loggerOf(call) {
      const { functionId, invocationId } = call;
      const traceparent = (): string | undefined => asyncContext.headers(within(call))?.traceparent;
      return workerLogger(userLogger, { worker: name, functionId, invocationId, traceparent }, logEntries);
    },
    channels,
    stateTransfer,
    startCall: (request, call, signal) => calls.start(request, undefined, within(call), signal),
    notify(request, call) {
      calls.start(request, { type: "void" }, within(call), undefined).catch((error: unknown) => {
        logger.debug("a report could not be sent", { functionId: request.function_id, error });
      });
    },
    span: (call, spanName, body, spanOptions) => spans.run(spanName, body, spanOptions, within(call)),
  };
}
