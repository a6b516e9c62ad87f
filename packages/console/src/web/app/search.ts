import * as z from "zod/mini";

z.config({ jitless: true });

// What each page keeps in the query of its address. A parameter that does not fit is dropped with a notice, never a blank page.

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
    status: text,
    source: text,
  }),
  triggers: z.object({ q: text, type: z.optional(z.enum(["http", "cron", "queue", "event", "state", "other"])), system: flag }),
  // The engine lists items in the order of their keys, so there is no sort.
  states: z.object({ q: text, gq: text, cursor: text, size: z.optional(z.union([z.literal(50), z.literal(100), z.literal(500)])), system: flag, tab: text }),
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
  queues: z.object({ q: text, tab: text, job: text }),
  traces: z.object({
    q: text,
    status: z.optional(z.enum(["ok", "error", "pending"])),
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
    /** The filter of the spans of one trace: words, only errors, shortest duration in milliseconds, service. */
    span: text,
    errors: flag,
    least: number,
    part: text,
    critical: flag,
    /** How one trace is looked at: rows of the breakdown, colours of the flame graph, the list of the map, kind of difference. */
    rows: z.optional(z.enum(["operation"])),
    colors: z.optional(z.enum(["status", "self"])),
    list: flag,
    change: z.optional(z.enum(["slower", "faster", "added", "removed", "same"])),
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
    /** Filters that are kept and switched off, as the grammar of filters writes them. */
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
    /** What is shown beside the functions; undefined: everything. */
    layers: z.optional(z.array(z.enum(["triggers", "state", "streams", "queues", "events", "calls"]))),
    /** Groups of functions that are drawn as one node, by their prefix. */
    closed: list,
  }),
  config: z.object({ section: text, q: text, changed: flag }),
} as const;

export type PageName = keyof typeof searchSchemas;
export type SearchOf<Name extends PageName> = z.infer<(typeof searchSchemas)[Name]>;

let dropped: readonly string[] = [];
let droppedOf: PageName | undefined;
const listeners = new Set<() => void>();

/** The parameters of the present address that were dropped. */
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

/** Keeps the parameters that fit. */
export function readSearch<Name extends PageName>(name: Name, raw: Readonly<Record<string, unknown>>): SearchOf<Name> {
  const { shape } = searchSchemas[name];
  const kept: Record<string, unknown> = {};
  const refused: string[] = [];
  for (const [key, value] of Object.entries(raw)) {
    if (value === undefined) continue;
    const schema = Object.hasOwn(shape, key) ? (shape as Readonly<Record<string, z.ZodMiniType>>)[key] : undefined;
    const parsed = schema === undefined ? undefined : fitting(schema, value);
    // Named as undefined: the router would hand on what the address has otherwise.
    kept[key] = parsed;
    if (parsed === undefined) refused.push(key);
  }
  // The router takes what was dropped out of the address and reads it again: the notice stays until the page is left.
  if (refused.length > 0 || name !== droppedOf) set(refused);
  droppedOf = name;
  return kept as SearchOf<Name>;
}

/** The value as the schema has it. The router reads `1234` as a number where a text is meant, and one of a list as no list. */
function fitting(schema: z.ZodMiniType, value: unknown): unknown {
  const isScalar = (each: unknown): boolean => ["string", "number", "boolean"].includes(typeof each);
  const texts = (Array.isArray(value) ? value : [value]).map((each: unknown) => (isScalar(each) ? String(each) : each));
  for (const reading of [value, texts[0], texts]) {
    const parsed = schema.safeParse(reading);
    if (parsed.success) return parsed.data;
  }
  return undefined;
}
