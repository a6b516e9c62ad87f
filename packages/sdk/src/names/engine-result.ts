import { camelCase } from "./case.ts";
import { deprecated } from "./deprecation.ts";

/**
 * Members of a result whose values are objects or lists that the engine defines. The values of all other members stay
 * unchanged, because they may be values of a user.
 */
export interface ResultShape {
  readonly [member: string]: ResultShape;
}

/**
 * Prototype of all results. It has getters that return the members under their names on the wire, because earlier
 * releases returned these names. The getters are not enumerable. A getter is added when the first result with the
 * member appears.
 */
const resultPrototype: object = {};

function addOldName(old: string, name: string): void {
  if (old === name || old in resultPrototype) return;
  Object.defineProperty(resultPrototype, old, {
    get(this: Readonly<Record<string, unknown>>) {
      deprecated(`the member ${old} of results`, name);
      return this[name];
    },
  });
}

/** Returns a result of the engine with member names in camelCase. Lists are converted item by item. */
export function engineResult(wire: unknown, shape: ResultShape = {}): unknown {
  if (Array.isArray(wire)) return wire.map((item) => engineResult(item, shape));
  if (typeof wire !== "object" || wire === null) return wire;
  const result = Object.create(resultPrototype) as Record<string, unknown>;
  for (const [member, value] of Object.entries(wire)) {
    const nested = Object.hasOwn(shape, member) ? shape[member] : undefined;
    const name = camelCase(member);
    addOldName(member, name);
    result[name] = nested === undefined ? value : engineResult(value, nested);
  }
  return result;
}
