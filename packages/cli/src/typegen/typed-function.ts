import type { FunctionRow } from "../engine/listings.ts";
import { readFormat } from "./read-format.ts";
import type { FormatTypes } from "./type-node.ts";

/** The parts of a listed function that determine its types. */
export type ListedFunction = Pick<
  FunctionRow,
  "function_id" | "description" | "request_format" | "response_format" | "formats_differ"
>;

/** A function with its formats as types. */
export interface TypedFunction {
  readonly id: string;
  /** Unique prefix of its type names, e.g. `MathAdd`. */
  readonly name: string;
  readonly description: string | undefined;
  readonly payload: FormatTypes | undefined;
  readonly result: FormatTypes | undefined;
  /** True if its workers register different formats. The types are those of the first worker's formats. */
  readonly differs: boolean;
}

/**
 * Converts listed functions. They are sorted by id, so that the output is always the same. `untyped` are the ids of
 * functions without formats.
 */
export function typedFunctions(listed: readonly ListedFunction[]): {
  readonly typed: readonly TypedFunction[];
  readonly untyped: readonly string[];
} {
  const taken = new Set<string>();
  const sorted = [...listed].sort((a, b) => (a.function_id < b.function_id ? -1 : 1));
  const all = sorted.map(
    ({ function_id: id, description, request_format, response_format, formats_differ }): TypedFunction => {
      const [payload, result] = [readFormat(request_format), readFormat(response_format)];
      const name = payload === undefined && result === undefined ? "" : uniqueName(nameOf(id), taken);
      return { id, name, description: description ?? undefined, payload, result, differs: formats_differ === true };
    },
  );
  return {
    typed: all.filter(({ name }) => name !== ""),
    untyped: all.filter(({ name }) => name === "").map(({ id }) => id),
  };
}

/** Converts an id to a type name: `math::add_two` becomes `MathAddTwo`. */
export function nameOf(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  return /^[A-Za-z]/.test(name) ? name : `Function${name}`;
}

export function uniqueName(wanted: string, taken: Set<string>): string {
  let name = wanted;
  // The underscore prevents a collision with `Add2`, the name of a function add2.
  for (let number = 2; taken.has(name); number += 1) name = `${wanted}_${number}`;
  taken.add(name);
  return name;
}
