import { type ModuleContext, schemaOf, type TriggerBinding } from "@svc-runtime/engine/module";
import { Payload } from "@svc-runtime/protocol";
import { z } from "zod";
import { newTraceparent, traceIdOf } from "../calls/trace-ids.ts";
import { seesCall } from "../query/sees-call.ts";
import { RecentIds } from "../recent-ids.ts";
import type { SpanRecord } from "../telemetry-records.ts";
import type { SpanStore, TraceRow } from "./span-store.ts";
import { factsOf, type TraceFacts } from "./trace-facts.ts";
import { TraceFeed } from "./trace-feed.ts";
import { factsMatcher } from "./trace-match.ts";
import { traceFiltersSchema } from "./trace-query.ts";
import { visibleSpans } from "./visible-spans.ts";

const DELAY_MS = 300;
/**
 * Maximum number of delivered traces that are remembered. It is also the maximum number of remembered traces that our
 * own deliveries started.
 */
const MAX_REMEMBERED = 10_000;
/** Maximum number of concurrent deliveries per trigger. Traces that end while it is reached are not delivered. */
const MAX_IN_FLIGHT = 16;

const settingsSchema = z.strictObject({
  service_name: z
    .string()
    .min(1)
    .max(512)
    .optional()
    .meta({ description: "Part of the name of a service in the trace, case-insensitive" }),
  status: z.enum(["ok", "error"]).optional().meta({ description: "Status of the root span" }),
  with_errors: z.boolean().default(false).meta({ description: "Only traces with a failed span" }),
  function_id: z.string().min(1).max(512).optional().meta({ description: "Function that the trace began with" }),
  min_duration_ms: z.number().min(0).optional().meta({ description: "Duration of the root span" }),
});
type Settings = z.infer<typeof settingsSchema>;

interface Bound {
  readonly binding: TriggerBinding<Settings>;
  readonly matches: (facts: TraceFacts) => boolean;
  readonly delivered: RecentIds;
  inFlight: number;
}

/**
 * The trigger type `trace`. It delivers `{trace_ids}` for ended traces, each once, except traces that its own
 * deliveries started.
 */
export class TraceTriggers {
  readonly #context: ModuleContext<unknown>;
  readonly #store: SpanStore;
  readonly #feed: TraceFeed;
  readonly #bound = new Set<Bound>();
  readonly #own = new RecentIds(MAX_REMEMBERED);

  constructor(context: ModuleContext<unknown>, store: SpanStore) {
    this.#context = context;
    this.#store = store;
    this.#feed = new TraceFeed({
      reader: () => store,
      clock: context.clock,
      log: context.log,
      delayMs: DELAY_MS,
      onChange: (rows) => this.#onChange(rows),
    });
    context.provideTrigger({
      type: "trace",
      summary: "Traces have ended",
      settings: settingsSchema,
      bind: (binding) => this.#bind(binding),
    });
  }

  /** Notes a change of a trace. Called on the hot path. */
  changed(span: SpanRecord): void {
    if (this.#bound.size > 0 && !this.#own.has(span.traceId)) this.#feed.changed(span);
  }

  stop(): void {
    this.#feed.stop();
  }

  #bind(binding: TriggerBinding<Settings>): () => void {
    const refusal = binding.callRefusal("engine::traces::list");
    if (refusal !== undefined) throw refusal;
    const { function_id, ...filters } = binding.settings;
    const matchesFilters = factsMatcher(schemaOf(traceFiltersSchema).parse(filters));
    const matches = (facts: TraceFacts): boolean =>
      matchesFilters(facts) && (function_id === undefined || facts.functionId === function_id);
    const bound: Bound = { binding, matches, delivered: new RecentIds(MAX_REMEMBERED), inFlight: 0 };
    this.#bound.add(bound);
    this.#feed.setActive(true);
    return () => {
      this.#bound.delete(bound);
      if (this.#bound.size === 0) this.#feed.setActive(false);
    };
  }

  #onChange(rows: readonly TraceRow[]): void {
    const ended = rows
      .map(({ facts }) => facts)
      .filter((facts) => facts.pendingCount === 0 && !this.#own.has(facts.traceId));
    for (const bound of this.#bound) {
      const undelivered = ended.filter((facts) => !bound.delivered.has(facts.traceId));
      if (undelivered.length === 0 || bound.inFlight >= MAX_IN_FLIGHT) continue;
      bound.inFlight += 1;
      void this.#deliverTo(bound, undelivered).finally(() => {
        bound.inFlight -= 1;
      });
    }
  }

  /** Never rejects. */
  async #deliverTo(bound: Bound, undelivered: readonly TraceFacts[]): Promise<void> {
    try {
      const seen = bound.binding.principal.isTrusted ? undelivered : await this.#visibleTo(bound.binding, undelivered);
      const ids = seen
        .filter((facts) => bound.matches(facts) && !bound.delivered.has(facts.traceId))
        .map(({ traceId }) => traceId);
      if (ids.length === 0) return;
      for (const id of ids) bound.delivered.add(id);
      await this.#deliver(bound.binding, ids);
    } catch (error) {
      this.#context.log.warn("trace trigger delivery failed", { function: bound.binding.functionId, error });
    }
  }

  /** Returns the facts of the traces, computed from the spans that the owner of the binding may see. */
  async #visibleTo(binding: TriggerBinding<Settings>, traces: readonly TraceFacts[]): Promise<TraceFacts[]> {
    const sees = seesCall({ callRefusal: (functionId) => binding.callRefusal(functionId) });
    const seen: TraceFacts[] = [];
    // The traces are read one after another, because each may have 50,000 spans.
    for (const { traceId } of traces) {
      const facts = factsOf(visibleSpans(await this.#store.spansOf(traceId), sees));
      if (facts !== undefined) seen.push(facts);
    }
    return seen;
  }

  /** Never rejects. */
  async #deliver(binding: TriggerBinding<Settings>, traceIds: readonly string[]): Promise<void> {
    const span = this.#context.telemetry.startSpan({
      name: "trace trigger",
      kind: "producer",
      attributes: { "svc.trigger.type": "trace" },
    });
    // The traceparent is needed even if the engine records no spans. Workers may send spans of this trace, and these
    // must not trigger a delivery again.
    const traceparent = span.traceparent ?? newTraceparent();
    this.#own.add(traceIdOf(traceparent));
    try {
      const payload = Payload.fromValue({ trace_ids: traceIds });
      const options = { traceparent };
      if (await binding.passes(payload, options)) await binding.fire(payload, options);
      span.end();
    } catch (error) {
      span.end({ error: error instanceof Error ? error.message : String(error) });
      this.#context.log.warn("the function of a trace trigger failed", { function: binding.functionId, error });
    }
  }
}
