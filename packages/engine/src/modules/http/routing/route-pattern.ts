import { decodeSegment } from "./path.ts";

/** The parsed path of a route. */
export interface RoutePattern {
  /** As registered, with a leading slash, e.g. `/users/:id`. */
  readonly path: string;
  /**
   * The path with parameters named by position, e.g. `/users/:p0`. Patterns that match the same paths have the same
   * shape.
   */
  readonly shape: string;
  /** The user's names of the parameters, in order of position. */
  readonly parameterNames: readonly string[];
  /** Name of the tail, which matches the rest of the path, if there is one. */
  readonly tailName: string | undefined;
  readonly segments: readonly Segment[];
}

/** Maximum length of a route's path, in characters. */
const MAX_PATH_LENGTH = 2048;

/** First segments of the engine's own endpoints. */
const RESERVED: ReadonlySet<string> = new Set(["_console", "healthz", "readyz"]);

const PARAMETER_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Parses `api_path`, or returns why it cannot be a route. */
export function parseRoutePattern(apiPath: string): RoutePattern | { readonly problem: string } {
  if (apiPath === "") return { problem: "expected the path of the route, e.g. /orders/:id" };
  if (apiPath.length > MAX_PATH_LENGTH) return { problem: `expected at most ${MAX_PATH_LENGTH} characters` };
  if (/[?#]/.test(apiPath))
    return { problem: "expected a path without ? and #; the query string reaches the function as query_params" };
  const path = apiPath.startsWith("/") ? apiPath : `/${apiPath}`;
  const texts = path.slice(1).split("/");
  const segments: Segment[] = [];
  for (const [index, text] of texts.entries()) {
    const segment = readSegment(text);
    const problem =
      "problem" in segment
        ? segment.problem
        : problemInPlace(segment, { index, isLast: index === texts.length - 1, before: segments });
    if (problem !== undefined) return { problem };
    segments.push(segment as Segment);
  }
  const parameterNames = segments.flatMap((segment) => (segment.kind === "parameter" ? [segment.name] : []));
  const tail = segments.find((segment) => segment.kind === "tail");
  return { path, shape: shapeOf(segments), parameterNames, tailName: tail?.name, segments };
}

/** Returns what is wrong with a segment at its position. */
function problemInPlace(
  segment: Segment,
  place: { readonly index: number; readonly isLast: boolean; readonly before: readonly Segment[] },
): string | undefined {
  if (segment.kind === "literal") {
    if (segment.text === "" && !place.isLast) return "holds an empty segment (//)";
    return place.index === 0 && RESERVED.has(segment.text)
      ? `/${segment.text} belongs to the engine; choose another path`
      : undefined;
  }
  if (segment.kind === "tail" && !place.isLast)
    return `*${segment.name} takes the rest of the path, so nothing may follow it`;
  const isTaken = place.before.some((other) => other.kind !== "literal" && other.name === segment.name);
  return isTaken ? `the parameter ${segment.name} is twice in the path` : undefined;
}

function shapeOf(segments: readonly Segment[]): string {
  let position = 0;
  const parts = segments.map((segment) => {
    if (segment.kind === "parameter") return `:p${position++}`;
    // Colons in literals are doubled, so that a literal never looks like a parameter.
    return segment.kind === "tail" ? "*" : segment.text.replaceAll(":", "::");
  });
  return `/${parts.join("/")}`;
}

/** Returns whether all matching paths begin with the segments of `prefix`, a path such as `/acme`. */
export function liesBelow(pattern: RoutePattern, prefix: string): boolean {
  return prefix
    .slice(1)
    .split("/")
    .every((text, at) => {
      const segment = pattern.segments[at];
      return segment?.kind === "literal" && segment.text === text;
    });
}

/**
 * Result of comparing the segments of two patterns at the same position. `no`: the patterns are not related. `yes`:
 * they are related, whatever segments follow. `next`: the following segments decide.
 */
export type Step = "no" | "yes" | "next";

/**
 * Compares two segments to find out if a path can match both patterns. Parameters and tails match at least one
 * character.
 */
export function overlapStep(one: Segment, other: Segment): Step {
  if (one.kind === "literal" && other.kind === "literal") return one.text === other.text ? "next" : "no";
  if (isEmpty(one) || isEmpty(other)) return "no";
  return one.kind === "tail" || other.kind === "tail" ? "yes" : "next";
}

/**
 * Compares two segments to find out if every path that matches the pattern of `narrow` also matches the pattern of
 * `wide`.
 */
export function coverStep(wide: Segment, narrow: Segment): Step {
  if (wide.kind === "literal") return narrow.kind === "literal" && wide.text === narrow.text ? "next" : "no";
  if (isEmpty(narrow)) return "no";
  if (wide.kind === "tail") return "yes";
  return narrow.kind === "tail" ? "no" : "next";
}

/** Returns true for the empty segment after a trailing slash. */
function isEmpty(segment: Segment): boolean {
  return segment.kind === "literal" && segment.text === "";
}

export type Segment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "parameter"; readonly name: string }
  /** Matches the rest of the path. */
  | { readonly kind: "tail"; readonly name: string };

function readSegment(segment: string): Segment | { readonly problem: string } {
  if (segment.startsWith(":")) return named("parameter", segment.slice(1), segment);
  if (segment.startsWith("*")) return named("tail", segment.slice(1), segment);
  if (segment.startsWith("{*") && segment.endsWith("}")) return named("tail", segment.slice(2, -1), segment);
  if (segment.startsWith("{") && segment.endsWith("}")) return named("parameter", segment.slice(1, -1), segment);
  const decoded = decodeSegment(segment);
  if ("problem" in decoded) return { problem: `the segment ${JSON.stringify(segment)} ${decoded.problem}` };
  if (/[*{}?#]/.test(decoded.text)) {
    return {
      problem: `the segment ${JSON.stringify(segment)} holds one of * { } ? #; a parameter is written :name and fills a whole segment`,
    };
  }
  return { kind: "literal", text: decoded.text };
}

function named(kind: "parameter" | "tail", name: string, segment: string): Segment | { readonly problem: string } {
  if (PARAMETER_NAME.test(name)) return { kind, name };
  const example = kind === "tail" ? "*rest" : ":id";
  return {
    problem: `${JSON.stringify(segment)} needs a name of 1 to 64 letters, digits, _ or -, which fills the whole segment, e.g. ${example}`,
  };
}
