import { elementTexts, memberTexts, Payload } from "@svc-runtime/protocol";

/**
 * Replaces members of a parsed payload by `Payload`s with their original text: parsing rounds numbers, and serializing
 * again is expensive. `text` is JSON, `value` its parsed object or array; `names` are those of
 * `FunctionSpec.rawMembers`.
 */
export function keepRawMembers(text: string, value: object, names: readonly string[]): unknown {
  if (Array.isArray(value)) return value;
  const members = value as Readonly<Record<string, unknown>>;
  const whole = new Set(names.filter((name) => !name.includes(ELEMENTS)));
  const lists = listsOf(names, members);
  const wanted = [...whole, ...lists.keys()].filter((name) => Object.hasOwn(members, name));
  if (wanted.length === 0) return value;
  const kept: Record<string, unknown> = { ...members };
  const texts = memberTexts(text);
  for (const name of wanted) {
    const memberText = texts.get(name);
    // A value created in this process may have undefined members, which have no text.
    if (memberText === undefined) continue;
    kept[name] = whole.has(name)
      ? Payload.fromText(memberText)
      : keepInElements(memberText, members[name] as readonly unknown[], lists.get(name) ?? []);
  }
  return kept;
}

/** In a name such as `items[].value`, separates the name of the array from the name of a member of its elements. */
const ELEMENTS = "[].";

/** Returns the arrays whose elements have raw members, with the names of these members. */
function listsOf(names: readonly string[], members: Readonly<Record<string, unknown>>): Map<string, string[]> {
  const lists = new Map<string, string[]>();
  for (const name of names) {
    const cut = name.indexOf(ELEMENTS);
    const list = name.slice(0, cut);
    if (cut < 0 || !Object.hasOwn(members, list) || !Array.isArray(members[list])) continue;
    lists.set(list, [...(lists.get(list) ?? []), name.slice(cut + ELEMENTS.length)]);
  }
  return lists;
}

function keepInElements(text: string, elements: readonly unknown[], names: readonly string[]): unknown[] {
  const texts = elementTexts(text);
  return elements.map((element, index) => {
    if (typeof element !== "object" || element === null) return element;
    return keepRawMembers(texts[index] as string, element, names);
  });
}
