import { didYouMean } from "@svc-runtime/protocol/client";
import { deprecated } from "./deprecation.ts";

/** Names of the options of a method, or of the members of an object that a method takes. */
export interface OptionNames {
  /** Name for messages, for example `state.set`. */
  readonly of: string;
  readonly known: ReadonlySet<string>;
  /** Other accepted names, each with the current name. */
  readonly others: ReadonlyMap<string, { readonly name: string; readonly isDeprecated: boolean }>;
}

/**
 * Returns the names of the options of a method.
 *
 * @param old Deprecated names, each with the current name.
 * @param specified Names that the specification uses, each with the current name. Both are valid.
 */
export function optionNames(
  of: string,
  names: readonly string[],
  old: Readonly<Record<string, string>> = {},
  specified: Readonly<Record<string, string>> = {},
): OptionNames {
  const others = new Map<string, { readonly name: string; readonly isDeprecated: boolean }>();
  for (const [other, name] of Object.entries(old)) others.set(other, { name, isDeprecated: true });
  for (const [other, name] of Object.entries(specified)) others.set(other, { name, isDeprecated: false });
  return { of, known: new Set(names), others };
}

/**
 * Returns the given options under their current names. Returns the same object if all its names are current.
 *
 * @throws TypeError for a value that is not an object, and for an option that the method does not have. The message
 * contains the nearest option that it has.
 */
export function checkedOptions<Options extends object>(given: Options, names: OptionNames): Options {
  if (typeof given !== "object" || given === null)
    throw new TypeError(`the options of ${names.of} must be an object, not ${given === null ? "null" : typeof given}`);
  let isRenamed = false;
  // A `for` loop is faster than a list of the keys, and this code runs for every call.
  for (const name in given) {
    if (names.known.has(name) || !Object.hasOwn(given, name)) continue;
    if (!names.others.has(name)) throw unknownOption(name, names);
    isRenamed = true;
  }
  return isRenamed ? renamed(given, names) : given;
}

function renamed<Options extends object>(given: Options, names: OptionNames): Options {
  const options: Record<string, unknown> = {};
  for (const [given_name, value] of Object.entries(given)) {
    const other = names.others.get(given_name);
    if (other?.isDeprecated === true) deprecated(`the option ${given_name} of ${names.of}`, other.name);
    const name = other?.name ?? given_name;
    if (options[name] === undefined) options[name] = value;
  }
  return options as Options;
}

function unknownOption(name: string, { of, known, others }: OptionNames): TypeError {
  const candidates = [...known, ...[...others].filter(([, { isDeprecated }]) => !isDeprecated).map(([other]) => other)];
  const nearest = didYouMean(name, candidates);
  return new TypeError(
    `${of} has no option ${name}${nearest === "" ? `; its options are ${candidates.join(", ")}` : nearest}`,
  );
}
