import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSamePrincipal, type Principal, restrictedPrincipal, TRUSTED } from "../../access/principal.ts";
import { parseRoutePattern, type RoutePattern } from "./routing/route-pattern.ts";
import type { RouteMethod } from "./routing/route-settings.ts";
import { RouteTable } from "./routing/routes.ts";
import { type Bound, binding } from "./testing/bound-route.ts";

const PRINCIPALS: readonly Principal[] = [
  TRUSTED,
  restrictedPrincipal("role a"),
  restrictedPrincipal("role b"),
  restrictedPrincipal("role c"),
  restrictedPrincipal("role d", "/x"),
];

const OUTSIDE_PREFIX = /^routes of this connection must lie below/;

interface Step {
  readonly path: string;
  readonly method: RouteMethod;
  readonly principal: Principal;
  /** `leave`: unregisters the trigger; `go`: does not come back in time; `away`: disconnects, or comes back. */
  readonly what: "add" | "leave" | "go" | "become" | "away";
  readonly which: number;
}

const path = fc.array(fc.constantFrom("x", "y", ":p", "*t"), { minLength: 1, maxLength: 3 }).map((parts) => {
  const tail = parts.indexOf("*t");
  const named = (tail === -1 ? parts : parts.slice(0, tail + 1)).map((part, at) => (part === ":p" ? `:p${at}` : part));
  return `/${named.join("/")}`;
});

const step: fc.Arbitrary<Step> = fc.record({
  path,
  method: fc.constantFrom("GET", "POST"),
  principal: fc.constantFrom(...PRINCIPALS),
  what: fc.constantFrom("add", "add", "leave", "go", "become", "away"),
  which: fc.nat(20),
});

/**
 * Two triggers of a trusted worker with one route become those of one role, the second first. The first one then
 * serves, and the second is reported as waiting.
 */
const FALLING_BEHIND: readonly Step[] = [
  { path: "/y", method: "GET", principal: TRUSTED, what: "add", which: 0 },
  { path: "/y", method: "GET", principal: TRUSTED, what: "add", which: 0 },
  { path: "/x", method: "GET", principal: restrictedPrincipal("role c"), what: "become", which: 1 },
  { path: "/x", method: "GET", principal: restrictedPrincipal("role c"), what: "become", which: 0 },
];

/** A trigger of a trusted worker stands in for an equal one whose worker is away already, which is reported as waiting. */
const STANDING_IN: readonly Step[] = [
  { path: "/x", method: "GET", principal: TRUSTED, what: "add", which: 0 },
  { path: "/x", method: "GET", principal: TRUSTED, what: "away", which: 0 },
  { path: "/x", method: "GET", principal: TRUSTED, what: "add", which: 0 },
];

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const patternOf = ({ settings }: Bound): RoutePattern => parseRoutePattern(settings.apiPath) as RoutePattern;
const isSameRoute = (one: Bound, other: Bound): boolean =>
  one.settings.method === other.settings.method && patternOf(one).shape === patternOf(other).shape;
const takesFrom = (one: Bound, other: Bound): boolean =>
  isSamePrincipal(one.principal, other.principal)
    ? isSameRoute(one, other)
    : !one.principal.isTrusted && !other.principal.isTrusted && overlaps(patternOf(one), patternOf(other));

/** A route table with a simple model of its expected state. */
class Model {
  readonly table = new RouteTable();
  readonly #live = new Map<Bound, () => void>();
  /** Routes that trusted workers have, or had and did not unregister. */
  #kept: Bound[] = [];

  do({ path: apiPath, method, principal, what, which }: Step, at: number): void {
    if (what === "add") {
      this.#add(binding(`f${at}`, apiPath, { method }), principal);
      return;
    }
    const chosen = [...this.#live.keys()][which % Math.max(1, this.#live.size)];
    if (chosen === undefined) return;
    if (what === "away") {
      // Only bindings of trusted workers are kept.
      if (chosen.principal.isTrusted) chosen.setAway(!chosen.awaitsOwner);
      return;
    }
    chosen.isGivenUp = what === "leave" || (what === "become" && which % 2 === 0);
    if (what === "become") {
      this.#become(chosen, principal);
      return;
    }
    this.#lose(chosen);
    this.#live.get(chosen)?.();
    this.#live.delete(chosen);
  }

  #add(bound: Bound, principal: Principal): void {
    bound.principal = principal;
    try {
      this.#live.set(bound, this.table.add(bound));
    } catch (error) {
      expect(String(error)).toMatch(/must lie below/);
      return;
    }
    if (principal.isTrusted) this.#kept.push(bound);
  }

  #become(bound: Bound, principal: Principal): void {
    if (isSamePrincipal(bound.principal, principal)) return;
    this.#lose(bound);
    bound.setAway(false);
    bound.become(principal);
    if (principal.isTrusted) this.#kept.push(bound);
  }

  /** The holder no longer belongs to a trusted worker. */
  #lose(bound: Bound): void {
    if (!bound.principal.isTrusted || !bound.isGivenUp) return;
    const isLeft = [...this.#live.keys()].some(
      (other) => other !== bound && other.principal.isTrusted && isSameRoute(other, bound),
    );
    if (!isLeft) this.#kept = this.#kept.filter((other) => !isSameRoute(other, bound));
  }

  check(): void {
    const serving = this.table.owners().map((holder) => holder.binding as Bound);
    const isKept = (bound: Bound): boolean =>
      !bound.principal.isTrusted && this.#kept.some((other) => covers(patternOf(other), patternOf(bound)));
    for (const one of serving) {
      expect([one.problem, isKept(one)]).toEqual([undefined, false]);
      const standsIn = [...this.#live.keys()].some(
        (other) => !other.awaitsOwner && other.principal.isTrusted && isSameRoute(one, other),
      );
      expect(one.awaitsOwner && standsIn).toBe(false);
      expect(serving.filter((other) => other !== one && takesFrom(one, other))).toEqual([]);
    }
    for (const bound of this.#live.keys()) {
      if (serving.includes(bound) || OUTSIDE_PREFIX.test(bound.problem ?? "")) continue;
      expect(bound.problem).toMatch(/taken|reserved/);
      expect(isKept(bound) || serving.some((other) => takesFrom(bound, other))).toBe(true);
    }
  }
}

/** Returns whether some path matches both patterns. */
function overlaps(a: RoutePattern, b: RoutePattern): boolean {
  for (let at = 0; ; at++) {
    const [one, other] = [a.segments[at], b.segments[at]];
    if (one === undefined || other === undefined) return one === other;
    if (one.kind === "literal" && other.kind === "literal") {
      if (one.text !== other.text) return false;
      // Parameters and tails match at least one character.
    } else if (isEmpty(one) || isEmpty(other)) return false;
    if (one.kind === "tail" || other.kind === "tail") return true;
  }
}

/** Returns whether every path that matches `narrow` matches `wide` as well. */
function covers(wide: RoutePattern, narrow: RoutePattern): boolean {
  for (let at = 0; ; at++) {
    const [one, other] = [wide.segments[at], narrow.segments[at]];
    if (one === undefined || other === undefined) return one === other;
    if (one.kind === "literal") {
      if (other.kind !== "literal" || one.text !== other.text) return false;
    } else if (isEmpty(other)) return false;
    else if (one.kind === "tail") return true;
    else if (other.kind === "tail") return false;
  }
}

/** Returns whether it is the empty segment after a trailing slash. */
function isEmpty(segment: RoutePattern["segments"][number]): boolean {
  return segment.kind === "literal" && segment.text === "";
}

describe("routes of several principals", () => {
  it("never serve what a trusted worker keeps, nor one path for two principals, and none waits for nothing", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps: readonly Step[]) => {
        const model = new Model();
        for (const [at, each] of steps.entries()) {
          model.do(each, at);
          if (each.which % 3 === 0) await turn();
        }
        await turn();
        model.check();
      }),
      { numRuns: 500, examples: [[FALLING_BEHIND], [STANDING_IN]] },
    );
  });
});
