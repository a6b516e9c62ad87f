import { elementTexts, memberTexts, Payload } from "@svc/protocol";

/**
 * Puts members of a payload into its parsed value as `Payload`s with the text that they came in: parsing rounds numbers, and writing them again
 * costs. `text` is JSON, `value` what it says, an object or an array; `names` are those of `FunctionSpec.rawMembers`.
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
    // A value of this process may have members that are undefined; they have no text.
    if (memberText === undefined) continue;
    kept[name] = whole.has(name) ? Payload.fromText(memberText) : keepInElements(memberText, members[name] as readonly unknown[], lists.get(name) ?? []);
  }
  return kept;
}

/** Stands between the name of an array and that of a member of its elements. */
const ELEMENTS = "[].";

/** Arrays whose elements have raw members, with the names of those. */
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
