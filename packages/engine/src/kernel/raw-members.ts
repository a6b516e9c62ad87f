import { elementTexts, memberTexts, Payload } from "@svc-runtime/protocol";

/** In a name such as `items[].value`, separates the name of the array from the name of a member of its elements. */
const ELEMENTS = "[].";

/** The members of a payload that stay unparsed. */
export interface RawMembers {
  readonly whole: readonly string[];
  /** Names of arrays, each with the unparsed members of its elements. */
  readonly inElements: readonly (readonly [list: string, ofElement: RawMembers])[];
}

/** `names` are those of `FunctionSpec.rawMembers`. */
export function rawMembersOf(names: readonly string[]): RawMembers {
  const lists = new Map<string, string[]>();
  for (const name of names) {
    const cut = name.indexOf(ELEMENTS);
    const list = name.slice(0, cut);
    if (cut >= 0) lists.set(list, [...(lists.get(list) ?? []), name.slice(cut + ELEMENTS.length)]);
  }
  return {
    whole: names.filter((name) => !name.includes(ELEMENTS)),
    inElements: [...lists].map(([list, members]) => [list, rawMembersOf(members)]),
  };
}

/**
 * Replaces members of a parsed payload by `Payload`s with their original text: parsing rounds numbers, and serializing
 * again is expensive. `text` is JSON, `value` its parsed object or array.
 */
export function keepRawMembers(text: string, value: object, { whole, inElements }: RawMembers): unknown {
  if (Array.isArray(value)) return value;
  const members = value as Readonly<Record<string, unknown>>;
  const isWanted =
    whole.some((name) => Object.hasOwn(members, name)) || inElements.some(([list]) => ownArray(members, list));
  if (!isWanted) return value;
  const kept: Record<string, unknown> = { ...members };
  const texts = memberTexts(text);
  // A value created in this process may have undefined members, which have no text.
  for (const name of whole) {
    const memberText = Object.hasOwn(members, name) ? texts.get(name) : undefined;
    if (memberText !== undefined) kept[name] = Payload.fromText(memberText);
  }
  for (const [list, ofElement] of inElements) {
    const elements = ownArray(members, list);
    const memberText = texts.get(list);
    if (elements !== undefined && memberText !== undefined)
      kept[list] = keepInElements(memberText, elements, ofElement);
  }
  return kept;
}

function ownArray(members: Readonly<Record<string, unknown>>, name: string): readonly unknown[] | undefined {
  const value = Object.hasOwn(members, name) ? members[name] : undefined;
  return Array.isArray(value) ? value : undefined;
}

function keepInElements(text: string, elements: readonly unknown[], ofElement: RawMembers): unknown[] {
  const texts = elementTexts(text);
  return elements.map((element, index) => {
    if (typeof element !== "object" || element === null) return element;
    return keepRawMembers(texts[index] as string, element, ofElement);
  });
}
