// This code is in a file of its own, so that it can be loaded after the page.
import { isSecretName, MASK } from "@svc-runtime/protocol/secrets";
import { call } from "./api.ts";
import { maskedNamed } from "./secrets.ts";

export { completeQuery } from "@svc-runtime/protocol/query";

/** Kinds of data whose attributes or members a query can name. */
export type AttributeSource = "traces" | "logs" | "state";

/** Known values by attribute name, for example `attr.order_id`. */
export type KnownAttributes = ReadonlyMap<string, ReadonlySet<string>>;

/** Number of the latest traces whose root span is read. */
const TRACES = 50;
/** Number of the latest traces of which not only the root span is read. */
const TRACES_WITH_SPANS = 8;
/** Maximum number of spans that are read of each of these traces. */
const SPANS = 500;
/** Number of the latest log entries whose attributes are read. */
const ENTRIES = 300;
/** Number of state items whose members are read. */
const ITEMS = 100;
const MAX_NAMES = 500;
/** Maximum number of values that are suggested for a name. */
const MAX_VALUES = 20;
/** Maximum length of a suggested value, in characters. */
const MAX_VALUE = 80;

class Names {
  readonly values = new Map<string, Set<string>>();

  /**
   * Adds a name, and its value if it may be suggested (`shownValue`), is short enough and is one of the first values.
   * Ignores further names if there are MAX_NAMES.
   */
  add(name: string, value: unknown): void {
    const known = this.values.get(name) ?? new Set();
    if (!this.values.has(name) && this.values.size >= MAX_NAMES) return;
    this.values.set(name, known);
    const text = shownValue(name, value);
    if (text !== undefined && text.length <= MAX_VALUE && known.size < MAX_VALUES) known.add(text);
  }
}

/**
 * Returns the value as text. Returns undefined if it must not be suggested: it is or contains a secret, it is a list or
 * an object, or it is masked. No query finds a masked value.
 */
function shownValue(name: string, value: unknown): string | undefined {
  // The name may have a prefix such as `attr.`. This does not matter, because a name is secret if it contains the name
  // of a secret.
  if (value === undefined || isSecretName(name)) return undefined;
  if (typeof value === "object" && value !== null) return undefined;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  // Attributes of spans are texts, even if they contain a list or an object as JSON.
  if (/^\s*[[{]/.test(text) || text.includes(MASK)) return undefined;
  return maskedNamed(name, text) === text ? text : undefined;
}

interface Span {
  readonly trace_id: string;
  readonly attributes: readonly (readonly [string, string])[];
}

/** Returns the attributes of the latest spans, log entries or state items. A source that fails is left out. */
export async function loadAttributes(sources: readonly AttributeSource[]): Promise<KnownAttributes> {
  const names = new Names();
  const loaders = { traces: loadSpans, logs: loadEntries, state: loadItems };
  await Promise.all(sources.map((source) => loaders[source](names).catch(() => undefined)));
  return names.values;
}

async function loadSpans(names: Names): Promise<void> {
  const { spans } = await call<{ readonly spans: readonly Span[] }>("engine::traces::list", { limit: TRACES });
  const latest = spans.slice(0, TRACES_WITH_SPANS);
  const inner = await Promise.all(
    latest.map(({ trace_id }) =>
      call<{ readonly spans: readonly Span[] }>("engine::traces::spans", { trace_id, limit: SPANS }),
    ),
  );
  for (const { attributes } of [...spans, ...inner.flatMap((answer) => answer.spans)])
    for (const [name, value] of attributes) names.add(`attr.${name}`, value);
}

async function loadEntries(names: Names): Promise<void> {
  interface Entry {
    readonly attributes: Readonly<Record<string, unknown>>;
  }
  const { logs } = await call<{ readonly logs: readonly Entry[] }>("engine::logs::list", { limit: ENTRIES });
  for (const { attributes } of logs)
    for (const [name, value] of Object.entries(attributes)) names.add(`attr.${name}`, value);
}

async function loadItems(names: Names): Promise<void> {
  interface Item {
    readonly key: string;
    readonly value: unknown;
  }
  const { items } = await call<{ readonly items: readonly Item[] }>("state::query", {
    query: "",
    limit: ITEMS,
    exclude_system: true,
  });
  for (const { key, value } of items) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) continue;
    for (const [name, member] of Object.entries(value))
      names.add(`value.${name}`, isSecretName(key) ? undefined : member);
  }
}
