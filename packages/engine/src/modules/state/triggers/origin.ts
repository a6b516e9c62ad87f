import { randomBytes } from "node:crypto";

/** One firing that led to a write: which function, by which item. */
export interface ChainLink {
  readonly functionId: string;
  readonly scope: string;
  readonly key: string;
}

/** What a delivery remembers of the write that it tells of. */
export interface DeliveryOrigin {
  /** W3C trace context that the write came with. */
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
  /** How many firings, one because of the other, led to the write. */
  readonly depth: number;
  /** The last of them, in order. */
  readonly chain: readonly ChainLink[];
}

/** Of `Notice.origin`. */
const MAX_ORIGIN_BYTES = 1024;
/** Firings that are remembered of a chain; enough to see a circle of two. */
const MAX_LINKS = 3;
const MAX_NAME_CHARACTERS = 60;

export function extendChain(chain: readonly ChainLink[], { functionId, scope, key }: ChainLink): readonly ChainLink[] {
  return [...chain, { functionId: cut(functionId), scope: cut(scope), key: cut(key) }].slice(-MAX_LINKS);
}

/** `a (by "k" in "s") -> b (by ...)`. */
export function describeChain(chain: readonly ChainLink[]): string {
  return chain.map(({ functionId, scope, key }) => `${functionId} (fired by ${JSON.stringify(key)} in scope ${JSON.stringify(scope)})`).join(" -> ");
}

/** As it is stored. What does not fit goes: first the baggage, then the chain. */
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

/** The text is our own. One that is not (another release's) counts as the beginning of a chain. */
export function decodeOrigin(text: string): DeliveryOrigin {
  const read = parsed(text);
  return {
    traceparent: typeof read?.t === "string" ? read.t : undefined,
    baggage: typeof read?.b === "string" ? read.b : undefined,
    depth: typeof read?.d === "number" ? read.d : 0,
    chain: Array.isArray(read?.c) ? (read.c as string[][]).map(([functionId = "", scope = "", key = ""]) => ({ functionId, scope, key })) : [],
  };
}

function parsed(text: string): { readonly t?: unknown; readonly d?: unknown; readonly c?: unknown; readonly b?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** W3C Trace Context: a new trace, sampled. */
export function newTraceparent(): string {
  return `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-01`;
}

/** The same trace, or a new one, with a span of its own for one firing. */
export function childTraceparent(parent: string | undefined): string {
  if (parent === undefined) return newTraceparent();
  const [version = "00", traceId = "", , flags = "01"] = parent.split("-");
  return `${version}-${traceId}-${randomBytes(8).toString("hex")}-${flags}`;
}

function cut(name: string): string {
  return name.length <= MAX_NAME_CHARACTERS ? name : `${name.slice(0, MAX_NAME_CHARACTERS - 1)}…`;
}
