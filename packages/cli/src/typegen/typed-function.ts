import type { FunctionRow } from "../listings.ts";
import { readFormat } from "./read-format.ts";
import type { FormatTypes } from "./type-node.ts";

/** What of a listed function its types depend on. */
export type ListedFunction = Pick<FunctionRow, "function_id" | "description" | "request_format" | "response_format" | "formats_differ">;

/** A function with its formats as types. */
export interface TypedFunction {
  readonly id: string;
  /** Begins the names of its types, e.g. `MathAdd`; unique. */
  readonly name: string;
  readonly description: string | undefined;
  readonly payload: FormatTypes | undefined;
  readonly result: FormatTypes | undefined;
  /** Its workers disagree on the formats; these are the first one's. */
  readonly differs: boolean;
}

/** By id, so that the same functions give the same text. Those without any format are `untyped`. */
export function typedFunctions(listed: readonly ListedFunction[]): { readonly typed: readonly TypedFunction[]; readonly untyped: readonly string[] } {
  const taken = new Set<string>();
  const sorted = [...listed].sort((a, b) => (a.function_id < b.function_id ? -1 : 1));
  const all = sorted.map(({ function_id: id, description, request_format, response_format, formats_differ }): TypedFunction => {
    const [payload, result] = [readFormat(request_format), readFormat(response_format)];
    const name = payload === undefined && result === undefined ? "" : uniqueName(nameOf(id), taken);
    return { id, name, description: description ?? undefined, payload, result, differs: formats_differ === true };
  });
  return { typed: all.filter(({ name }) => name !== ""), untyped: all.filter(({ name }) => name === "").map(({ id }) => id) };
}

/** `math::add_two` becomes `MathAddTwo`. */
export function nameOf(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  return /^[A-Za-z]/.test(name) ? name : `Function${name}`;
}

export function uniqueName(wanted: string, taken: Set<string>): string {
  let name = wanted;
  // Behind a letter, so that `Add2` of the function add2 is not met by the second Add.
  for (let number = 2; taken.has(name); number += 1) name = `${wanted}_${number}`;
  taken.add(name);
  return name;
}
