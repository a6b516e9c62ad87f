import type { MessageOf } from "@svc-runtime/protocol/client";
import type { ActiveCall, ActiveCallHost } from "../calls/active-call.ts";
import type { Active, AsyncContext } from "../calls/async-context.ts";
import { CallRunner, type FunctionEntry } from "../calls/call-runner.ts";
import type { OutgoingCalls } from "../calls/outgoing-calls.ts";
import type { Channels } from "../channels/channels.ts";
import { reviveChannelRefs } from "../channels/revive-channel-refs.ts";
import type { InboundCall } from "../connection/inbound.ts";
import type { Session } from "../connection/session.ts";
import type { CronPart } from "../cron/worker-cron.ts";
import type { Logger } from "../logger.ts";
import type { Part } from "../on-demand.ts";
import type { QueuePart } from "../queue/worker-queue.ts";
import type { StateTransfer } from "../state/worker-state.ts";
import type { LogEntry } from "../telemetry/log-entry.ts";
import type { Spans } from "../telemetry/spans.ts";
import { workerLogger } from "../telemetry/worker-logger.ts";
import { ProviderSession } from "./provider-session.ts";
import { type ProvidedType, TriggerProviders } from "./trigger-providers.ts";

/** Parts of a worker that its handlers use. */
export interface ProviderOptions {
  /** Name of the worker. */
  readonly name: string;
  /** The user's logger. */
  readonly userLogger: Logger;
  /** The worker's logger. */
  readonly logger: Logger;
  /** Receives the log lines of handlers. Undefined if log lines are not sent. */
  readonly logEntries: ((entry: LogEntry) => void) | undefined;
  readonly asyncContext: AsyncContext;
  readonly queueAndCron: Part<QueuePart & CronPart>;
  readonly stateTransfer: Part<StateTransfer>;
  readonly session: Session;
  /** Returns a new UUID. */
  readonly newId: () => string;
  readonly channels: Channels;
  readonly calls: OutgoingCalls;
  readonly spans: Spans;
}

/** Runs the handlers of a worker: those of its functions and of its trigger types. */
export class Provider {
  readonly #session: ProviderSession;
  readonly #channels: Channels;
  readonly #calls: CallRunner;
  readonly #triggers: TriggerProviders;

  constructor(options: ProviderOptions) {
    const { asyncContext, session, newId, logger, channels } = options;
    const ownSession = new ProviderSession({
      session,
      newId,
      log: (level, message, fields) => logger[level](message, fields),
    });
    this.#session = ownSession;
    this.#channels = channels;
    this.#calls = new CallRunner({
      asyncContext,
      host: hostOf(options),
      answers: {
        answer: (invocationId, result) => ownSession.answer(invocationId, result),
        fail: (invocationId, error) => ownSession.fail(invocationId, error.toWire()),
      },
    });
    this.#triggers = new TriggerProviders({
      logger,
      answer: (binding, error) => ownSession.answerBinding(binding, error),
    });
  }

  /** Runs a call. `entry` is undefined if the function was unregistered. */
  call(inbound: InboundCall, entry: FunctionEntry | undefined): void {
    const call = this.#session.accept(inbound);
    if (call === undefined) return;
    const given = call.mayHoldChannels ? { ...call, ...reviveChannelRefs(call.payload, this.#channels) } : call;
    this.#calls.run(given, entry);
  }

  cancelCall(invocationId: string, reason: string): void {
    if (this.#session.cancel(invocationId)) this.#calls.cancel(invocationId, reason);
  }

  /** Binds a trigger. `type` is undefined if the trigger type was unregistered. */
  bind(message: MessageOf<"registertrigger">, type: ProvidedType | undefined): void {
    const { binding, replaced } = this.#session.bind(message);
    if (replaced !== undefined) this.#triggers.unbind(replaced);
    this.#triggers.bind(binding, type);
  }

  unbind(id: string): void {
    const binding = this.#session.unbind(id);
    if (binding !== undefined) this.#triggers.unbind(binding);
  }

  /**
   * Called when the connection has ended. Cancels the running handlers, and removes the bindings of this connection.
   */
  disconnected(): void {
    const { invocationIds, bindings } = this.#session.disconnected();
    for (const id of invocationIds) this.#calls.cancel(id, "disconnected");
    for (const binding of bindings) this.#triggers.unbind(binding);
  }

  /** Returns one promise per call in flight. Each resolves when the call's handler ends. */
  callEnds(): readonly Promise<void>[] {
    return this.#calls.ends();
  }

  /** Resolves when all bindings that were requested so far are made or removed. */
  bindingsSettled(): Promise<void> {
    return this.#triggers.settled();
  }
}

function hostOf(options: ProviderOptions): ActiveCallHost {
  const { name, userLogger, logger, logEntries, asyncContext, channels, calls, spans } = options;
  const { queueAndCron, stateTransfer } = options;
  /** Returns the span of the call that runs now. Without one, returns the call itself. */
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
    queueAndCron,
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
