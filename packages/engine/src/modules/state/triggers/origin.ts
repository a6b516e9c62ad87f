import { randomBytes } from "node:crypto";

/** A delivery that led to a write: the called function and the changed item. */
export interface ChainLink {
  readonly functionId: string;
  readonly scope: string;
  readonly key: string;
}

/** Data about a write that is stored with its deliveries. */
export interface DeliveryOrigin {
  /** W3C trace context of the write. */
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
  /** Number of chained deliveries that led to the write. */
  readonly depth: number;
  /** The last of these deliveries, in order. */
  readonly chain: readonly ChainLink[];
}

/** Maximum size of `Notice.origin`. */
const MAX_ORIGIN_BYTES = 1024;
/** Maximum number of stored links of a chain. Three are enough to recognize a loop of two functions. */
const MAX_LINKS = 3;
const MAX_NAME_CHARACTERS = 60;

export function extendChain(chain: readonly ChainLink[], { functionId, scope, key }: ChainLink): readonly ChainLink[] {
  return [...chain, { functionId: cut(functionId), scope: cut(scope), key: cut(key) }].slice(-MAX_LINKS);
}

/** Returns e.g. `a (fired by "k" in scope "s") -> b (fired by ...)`. */
export function describeChain(chain: readonly ChainLink[]): string {
  return chain
    .map(
      ({ functionId, scope, key }) =>
        `${functionId} (fired by ${JSON.stringify(key)} in scope ${JSON.stringify(scope)})`,
    )
    .join(" -> ");
}

/** Returns the stored form. If it is too long, omits first the baggage, then the chain. */
export function encodeOrigin({ traceparent, baggage, depth, chain }: DeliveryOrigin): string {
  const links = chain.map(({ functionId, scope, key }) => [functionId, scope, key]);
  const forms = [
    { t: traceparent, d: depth, c: links, b: baggage },
    { t: traceparent, d: depth, c: links },
    { t: traceparent, d: depth, c: links.slice(-1) },
  ];
  for (const form of forms) {
    const text = JSON.stringify(form);
    if (Buffer.byteLength(text) <= MAX_ORIGIN_BYTES) return text;
  }
  return JSON.stringify({ t: traceparent, d: depth, c: [] });
}

/** Parses the stored form. An unknown form, e.g. of another release, counts as the start of a chain. */
export function decodeOrigin(text: string): DeliveryOrigin {
  const read = parsed(text);
  return {
    traceparent: typeof read?.t === "string" ? read.t : undefined,
    baggage: typeof read?.b === "string" ? read.b : undefined,
    depth: typeof read?.d === "number" ? read.d : 0,
    chain: Array.isArray(read?.c)
      ? (read.c as string[][]).map(([functionId = "", scope = "", key = ""]) => ({ functionId, scope, key }))
      : [],
  };
}

function parsed(
  text: string,
): { readonly t?: unknown; readonly d?: unknown; readonly c?: unknown; readonly b?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the traceparent of a new, sampled trace. */
export function newTraceparent(): string {
  return `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-01`;
}

/** Returns a traceparent with a new span in the same trace, or in a new one. */
export function childTraceparent(parent: string | undefined): string {
  if (parent === undefined) return newTraceparent();
  const [version = "00", traceId = "", , flags = "01"] = parent.split("-");
  return `${version}-${traceId}-${randomBytes(8).toString("hex")}-${flags}`;
}

function cut(name: string): string {
  return name.length <= MAX_NAME_CHARACTERS ? name : `${name.slice(0, MAX_NAME_CHARACTERS - 1)}…`;
}
