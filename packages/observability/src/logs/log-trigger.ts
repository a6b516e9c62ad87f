import type { Clock, Directory, Telemetry, TriggerBinding, TriggerSpec } from "@svc-runtime/engine/module";
import { functionIdSchema, Payload } from "@svc-runtime/protocol";
import { z } from "zod";
import { newTraceparent, traceIdOf } from "../calls/trace-ids.ts";
import { RecentIds } from "../recent-ids.ts";
import type { DropCounter } from "../telemetry-records.ts";
import { functionOf, type LogFilter, type LogMatcher, logMatcher, NO_FILTER, workerIdOf } from "./log-filter.ts";
import { logJson, type RedactAttributes } from "./log-json.ts";
import { firstNumberOf, SEVERITIES } from "./severity.ts";
import type { StoredLog } from "./stored-log.ts";

/** Maximum number of queued entries per binding. */
const MAX_WAITING = 1_000;
/** Maximum number of concurrent deliveries per binding. */
const MAX_RUNNING = 8;
/** Maximum number of remembered traces of deliveries. Entries in these traces are not delivered. */
const MAX_TRACES = 10_000;
/**
 * A handler's worker may log lines without a trace. These lines may arrive this long after the handler returned, in
 * milliseconds.
 */
const GRACE_MS = 1_000;

const level = z
  .string()
  .transform((text) => text.toLowerCase())
  .pipe(z.enum(["all", "trace", "debug", "info", "warn", "error", "fatal"]));

const settings = z.strictObject({
  level: level.default("all").meta({ description: "Minimum level: all, trace, debug, info, warn, error or fatal" }),
  service: z.string().max(256).nullish().meta({ description: "Only entries of this service" }),
  text: z
    .string()
    .max(1_024)
    .nullish()
    .meta({ description: "Only entries with this text in the body or in an attribute, case-insensitive" }),
  function_id: functionIdSchema.nullish().meta({ description: "Only entries that this function logged" }),
  condition_function_id: functionIdSchema
    .nullish()
    .meta({ description: "Function that is called first with the entry; if it returns false, the entry is skipped" }),
});
type LogTriggerSettings = z.infer<typeof settings>;

export interface LogTriggersParts {
  readonly clock: Clock;
  readonly directory: Directory;
  readonly telemetry: Telemetry;
  readonly drops: DropCounter;
  readonly redact: RedactAttributes;
}

/** Bindings of the trigger type `log`. Entries that a handler causes are not delivered, to prevent endless loops. */
export class LogTriggers {
  readonly #parts: LogTriggersParts;
  readonly #queues = new Set<LogTriggerQueue>();
  readonly #traces = new RecentIds(MAX_TRACES);

  constructor(parts: LogTriggersParts) {
    this.#parts = parts;
  }

  spec(): TriggerSpec<LogTriggerSettings> {
    return {
      type: "log",
      summary: "A log entry of at least a given level",
      settings,
      bind: (binding) => {
        const refusal = binding.callRefusal("engine::logs::list");
        if (refusal !== undefined) throw refusal;
        if (binding.settings.condition_function_id != null) binding.needs([binding.settings.condition_function_id]);
        const queue = new LogTriggerQueue(binding, this);
        this.#queues.add(queue);
        return () => {
          this.#queues.delete(queue);
          queue.stop();
        };
      },
    };
  }

  add(entry: StoredLog): void {
    if (this.#queues.size === 0) return;
    if (entry.log.traceId !== undefined && this.#traces.has(entry.log.traceId)) return;
    for (const queue of this.#queues) queue.enqueue(entry);
  }

  /** Masks the values of the keys that the current config lists. */
  get redact(): RedactAttributes {
    return this.#parts.redact;
  }

  dropped(): void {
    this.#parts.drops.dropped("logs", "log_trigger_queue_full", 1);
  }

  nowMs(): number {
    return this.#parts.clock.monotonic();
  }

  isProvidedBy(functionId: string, workerId: string): boolean {
    return this.#parts.directory.functionById(functionId)?.workers.some(({ id }) => id === workerId) ?? false;
  }

  isProvidedByService(functionId: string, service: string): boolean {
    return this.#parts.directory.functionById(functionId)?.workers.some(({ name }) => name === service) ?? false;
  }

  /** Calls the bound function with one entry, in a new trace. Never rejects. */
  async deliver(binding: TriggerBinding<LogTriggerSettings>, entry: StoredLog): Promise<void> {
    const { traceId, spanId } = entry.log;
    const span = this.#parts.telemetry.startSpan({
      name: "log trigger",
      kind: "consumer",
      attributes: { "svc.function_id": binding.functionId },
      ...(traceId === undefined || spanId === undefined ? {} : { links: [`00-${traceId}-${spanId}-01`] }),
    });
    const traceparent = span.traceparent ?? newTraceparent();
    this.#traces.add(traceIdOf(traceparent));
    try {
      const payload = Payload.fromValue(logJson(entry, this.#parts.redact));
      if (await binding.passes(payload, { traceparent })) await binding.fire(payload, { traceparent });
      span.end();
    } catch (error) {
      // The error is not logged, because that would create another entry, which could trigger another delivery.
      span.end({ error: error instanceof Error ? error.message : String(error) });
    }
  }
}

/** A binding, and the entries that are queued for its handler. */
class LogTriggerQueue {
  readonly #binding: TriggerBinding<LogTriggerSettings>;
  readonly #owner: LogTriggers;
  readonly #matches: LogMatcher;
  #waiting: StoredLog[] = [];
  #running = 0;
  #idleSinceMs = Number.NEGATIVE_INFINITY;
  #stopped = false;

  constructor(binding: TriggerBinding<LogTriggerSettings>, owner: LogTriggers) {
    this.#binding = binding;
    this.#owner = owner;
    const { level: least, service, text, function_id } = binding.settings;
    const matched: LogFilter = {
      ...NO_FILTER,
      severityMin:
        least === "all"
          ? undefined
          : least === "fatal"
            ? 21
            : firstNumberOf(SEVERITIES.find((name) => name.toLowerCase() === least) ?? "TRACE"),
      services: service == null ? undefined : [service],
      text: text == null || text === "" ? undefined : text.toLowerCase(),
      functionId: function_id ?? undefined,
    };
    this.#matches = logMatcher(matched, owner.redact);
  }

  enqueue(entry: StoredLog): void {
    if (!this.#matches(entry.log) || this.#isOwn(entry)) return;
    if (this.#waiting.length >= MAX_WAITING) {
      this.#owner.dropped();
      return;
    }
    this.#waiting.push(entry);
    this.#next();
  }

  stop(): void {
    this.#stopped = true;
    this.#waiting = [];
  }

  #next(): void {
    while (!this.#stopped && this.#running < MAX_RUNNING) {
      const entry = this.#waiting.shift();
      if (entry === undefined) return;
      this.#running += 1;
      // The promise of `deliver` never rejects.
      void this.#owner.deliver(this.#binding, entry).then(() => {
        this.#running -= 1;
        this.#idleSinceMs = this.#owner.nowMs();
        this.#next();
      });
    }
  }

  /**
   * Returns true for two kinds of entries: those of the bound function, and those without a trace that its worker logs
   * around the time when the function runs.
   */
  #isOwn({ log }: StoredLog): boolean {
    const { functionId } = this.#binding;
    if (functionOf(log) === functionId) return true;
    if (log.traceId !== undefined) return false;
    if (this.#running === 0 && this.#owner.nowMs() - this.#idleSinceMs > GRACE_MS) return false;
    const workerId = workerIdOf(log);
    return (
      (workerId !== undefined && this.#owner.isProvidedBy(functionId, workerId)) ||
      this.#owner.isProvidedByService(functionId, log.resource.service)
    );
  }
}
