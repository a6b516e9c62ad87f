import * as z from "zod/mini";

z.config({ jitless: true });

// Schemas of the query parameters of each page. An invalid parameter is dropped and a notice is shown, so that an
// invalid address never leaves the page blank.

const text = z.optional(z.string().check(z.maxLength(1_000)));
const flag = z.optional(z.boolean());
const number = z.optional(z.number());
const list = z.optional(z.array(z.string()));
const dir = z.optional(z.enum(["asc", "desc"]));
const range = z.optional(z.string().check(z.regex(/^(?:\d+(?:s|m|h|d)|all)$/)));

export const searchSchemas = {
  dashboard: z.object({ range, view: z.optional(z.enum(["table"])) }),
  workers: z.object({ q: text, runtime: text, status: text, system: flag, tab: text, sort: text, dir }),
  functions: z.object({
    q: text,
    group: z.optional(z.enum(["prefix", "worker"])),
    worker: text,
    system: flag,
    tab: text,
    inv: text,
    /** Id of the call that `inv` replayed. Both calls are compared. */
    original: text,
    status: text,
    source: text,
  }),
  triggers: z.object({
    q: text,
    type: z.optional(z.enum(["http", "cron", "queue", "event", "state", "other"])),
    system: flag,
  }),
  // There is no sort parameter, because the engine lists items only in the order of their keys.
  states: z.object({
    q: text,
    gq: text,
    /** Query over the items of all groups. */
    query: text,
    cursor: text,
    size: z.optional(z.union([z.literal(50), z.literal(100), z.literal(500)])),
    system: flag,
    tab: text,
  }),
  streams: z.object({
    q: text,
    dir: z.optional(z.enum(["inbound", "outbound"])),
    stream: text,
    group: text,
    type: text,
    system: flag,
    events: flag,
    sub: list,
  }),
  metrics: z.object({ q: text, labels: text, from: number, to: number, range }),
  query: z.object({ q: text, from: number, to: number, range }),
  queues: z.object({ q: text, tab: text, job: text }),
  traces: z.object({
    q: text,
    status: z.optional(z.enum(["ok", "error", "pending"])),
    /** Shows only traces with a failed span, even if the status of the root span is ok. */
    failed: flag,
    service: text,
    fn: text,
    op: text,
    min: number,
    max: number,
    from: number,
    to: number,
    range,
    attr: list,
    sort: text,
    dir,
    system: flag,
    trigger: text,
    /** Attribute that the list is grouped by. */
    group: text,
    view: z.optional(z.enum(["waterfall", "flame", "services", "map"])),
    tab: text,
    compare: text,
    /**
     * Filters of the spans of one trace: words (`span`), failed spans only (`errors`), minimum duration in milliseconds
     * (`least`), and the service.
     */
    span: text,
    errors: flag,
    least: number,
    part: text,
    critical: flag,
    /**
     * Display options of a trace: rows of the service breakdown, colours of the flame graph, whether the map is shown
     * as a list, and kind of difference in a comparison.
     */
    rows: z.optional(z.enum(["operation"])),
    colors: z.optional(z.enum(["status", "self"])),
    list: flag,
    change: z.optional(z.enum(["outcome", "slower", "faster", "added", "removed", "same"])),
  }),
  logs: z.object({
    q: text,
    level: list,
    source: list,
    not: list,
    trace: text,
    span: text,
    worker: text,
    fn: text,
    from: number,
    to: number,
    range,
    attr: list,
    group: flag,
    wrap: flag,
    cols: list,
    tab: z.optional(z.enum(["around"])),
    /** Filters that are switched off, in the filter syntax. */
    off: list,
  }),
  flow: z.object({
    focus: text,
    hops: z.optional(z.number().check(z.int(), z.minimum(1), z.maximum(3))),
    q: text,
    range,
    system: flag,
    dir: z.optional(z.enum(["lr", "tb"])),
    view: z.optional(z.enum(["list"])),
    /** Layers that are shown besides functions. Undefined means all layers. */
    layers: z.optional(z.array(z.enum(["triggers", "state", "streams", "queues", "events", "calls"]))),
    /** Groups of functions that are collapsed into one node. */
    closed: list,
  }),
  nodes: z.object({ q: text }),
  config: z.object({ section: text, q: text, changed: flag }),
} as const;

export type PageName = keyof typeof searchSchemas;
export type SearchOf<Name extends PageName> = z.infer<(typeof searchSchemas)[Name]>;

let dropped: readonly string[] = [];
let droppedOf: PageName | undefined;
const listeners = new Set<() => void>();

/** Parameters of the current address that were dropped. */
export const droppedParams = {
  get: (): readonly string[] => dropped,
  listen: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  },
  clear: (): void => set([]),
};

function set(next: readonly string[]): void {
  if (next.length === 0 && dropped.length === 0) return;
  dropped = next;
  queueMicrotask(() => {
    for (const listener of listeners) listener();
  });
}

/** Returns the parameters that are valid. Reports the others as dropped. */
export function readSearch<Name extends PageName>(name: Name, raw: Readonly<Record<string, unknown>>): SearchOf<Name> {
  const { shape } = searchSchemas[name];
  const kept: Record<string, unknown> = {};
  const rejected: string[] = [];
  for (const [key, value] of Object.entries(raw)) {
    if (value === undefined) continue;
    const schema = Object.hasOwn(shape, key) ? (shape as Readonly<Record<string, z.ZodMiniType>>)[key] : undefined;
    const parsed = schema === undefined ? undefined : fitting(schema, value);
    // Invalid parameters are set to undefined, because the router would otherwise keep the value of the address.
    kept[key] = parsed;
    if (parsed === undefined) rejected.push(key);
  }
  // The router removes dropped parameters from the address and then reads it again, without any dropped ones. So the
  // notice stays until another page is opened.
  if (rejected.length > 0 || name !== droppedOf) set(rejected);
  droppedOf = name;
  return kept as SearchOf<Name>;
}

/**
 * Converts the value to the type in the schema. It is needed because the router reads `1234` as a number even for a
 * text, and does not read a single value as a list.
 */
function fitting(schema: z.ZodMiniType, value: unknown): unknown {
  const isScalar = (each: unknown): boolean => ["string", "number", "boolean"].includes(typeof each);
  const texts = (Array.isArray(value) ? value : [value]).map((each: unknown) => (isScalar(each) ? String(each) : each));
  for (const reading of [value, texts[0], texts]) {
    const parsed = schema.safeParse(reading);
    if (parsed.success) return parsed.data;
  }
  return undefined;
}
