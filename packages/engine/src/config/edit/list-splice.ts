import { isScalar, isSeq, type Scalar } from "yaml";

/**
 * Location of a list of entries in a text. Lines are inserted there, so that all other bytes stay unchanged. Printing
 * the parsed document instead would normalize indentation, quotes and blank lines.
 */
export type ListPlace =
  /** The file does not have the key. `afterContent` is true if it has other keys. */
  | { readonly kind: "absent"; readonly afterContent: boolean }
  /** The list is `key: []`, `key:` or `key: null`. The offsets are those of the key and of its value. */
  | { readonly kind: "empty"; readonly keyAt: number; readonly valueFrom: number; readonly valueTo: number }
  /** The list has one line with `- ` for each entry. */
  | { readonly kind: "block"; readonly keyEnd: number; readonly items: readonly ItemPlace[] }
  | { readonly kind: "unknown" };

interface ItemPlace {
  /** Offset of the entry's dash. */
  readonly dashAt: number;
  /** Offset after the last character of the entry's value. */
  readonly end: number;
}

export function placeOfList(key: Scalar, value: unknown): ListPlace {
  if (!key.range) return { kind: "unknown" };
  if (isScalar(value) && value.value === null && value.range && value.anchor === undefined && value.tag === undefined) {
    return { kind: "empty", keyAt: key.range[0], valueFrom: value.range[0], valueTo: value.range[1] };
  }
  if (!isSeq(value) || !value.range || value.anchor !== undefined || value.tag !== undefined)
    return { kind: "unknown" };
  if (value.flow)
    return value.items.length === 0
      ? { kind: "empty", keyAt: key.range[0], valueFrom: value.range[0], valueTo: value.range[1] }
      : { kind: "unknown" };
  const token = value.srcToken;
  if (token?.type !== "block-seq") return { kind: "unknown" };
  const dashes = token.items.map((item) => item.start.find((part) => part.type === "seq-item-ind")?.offset);
  const items = value.items.map((item, index): ItemPlace | undefined => {
    const dashAt = dashes[index];
    const range =
      typeof item === "object" && item !== null && "range" in item
        ? (item.range as [number, number, number] | null | undefined)
        : undefined;
    return dashAt === undefined ? undefined : { dashAt, end: Math.max(dashAt + 1, range?.[1] ?? 0) };
  });
  const known = items.filter((item) => item !== undefined);
  return known.length === items.length && known.length > 0
    ? { kind: "block", keyEnd: key.range[1], items: known }
    : { kind: "unknown" };
}

/**
 * Adds `lines` as the last item. The first line begins with the dash, and the lines are not indented. Returns undefined
 * if the layout is not supported.
 */
export function appendItem(
  text: string,
  place: ListPlace,
  { key, lines }: { readonly key: string; readonly lines: readonly string[] },
): string | undefined {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const block = (column: number): string =>
    lines.map((line) => (line === "" ? "" : " ".repeat(column) + line) + eol).join("");
  switch (place.kind) {
    case "absent": {
      const start = text === "" || text.endsWith("\n") ? text : text + eol;
      return `${start}${place.afterContent ? eol : ""}${key}:${eol}${block(2)}`;
    }
    case "empty": {
      const lineEnd = endOfLine(text, place.valueTo);
      const behind = text.slice(place.valueTo, lineEnd).trim();
      if (behind !== "" && !behind.startsWith("#")) return undefined;
      const head = text.slice(0, place.valueFrom).trimEnd();
      const comment = behind === "" ? "" : `${place.valueFrom === place.valueTo ? " " : "  "}${behind}`;
      return `${head}${comment}${eol}${block(columnOf(text, place.keyAt) + 2)}${text.slice(nextLine(text, lineEnd))}`;
    }
    case "block": {
      const last = place.items.at(-1);
      if (last === undefined || !isLineStart(text, last.dashAt)) return undefined;
      const column = columnOf(text, last.dashAt);
      const at = endOfItem(text, last, { comments: column === 0 ? "deeper" : "same" });
      const gap = place.items.length > 1 && isBlankLineAbove(text, last.dashAt, column) ? eol : "";
      const head = text.slice(0, at);
      return `${head}${head.endsWith("\n") ? "" : eol}${gap}${block(column)}${text.slice(at)}`;
    }
    default:
      return undefined;
  }
}

/**
 * Removes items, together with the comments inside them and directly above them. Comments above the first item stay,
 * because they may describe the whole list.
 */
export function removeItems(text: string, place: ListPlace, indexes: ReadonlySet<number>): string | undefined {
  if (place.kind !== "block") return undefined;
  let result = text;
  for (const index of [...indexes].sort((a, b) => b - a)) {
    const item = place.items[index];
    if (item === undefined || !isLineStart(text, item.dashAt)) return undefined;
    const column = columnOf(text, item.dashAt);
    const from = index === 0 ? startOfLine(text, item.dashAt) : startOfCommentsAbove(text, item.dashAt, column);
    const to = endOfItem(text, item, { comments: "deeper" });
    result = cutLines(result, from, to);
  }
  if (indexes.size < place.items.length) return result;
  const colon = result.indexOf(":", place.keyEnd) + 1;
  return `${result.slice(0, colon)} []${result.slice(colon)}`;
}

/** Removes whole lines. If there are blank lines before and after the removed ones, only those after them stay. */
function cutLines(text: string, from: number, to: number): string {
  const before = text.slice(0, from);
  const after = text.slice(to);
  const blankBehind = after === "" || /^[ \t]*\r?\n/.test(after);
  return (blankBehind ? before.replace(/(\n)(?:[ \t]*\r?\n)+$/, "$1") : before) + after;
}

/**
 * Returns the offset after the last line of an item. Includes comment lines that are indented at least like the dash
 * (`same`) or more (`deeper`).
 */
function endOfItem(text: string, item: ItemPlace, { comments }: { readonly comments: "same" | "deeper" }): number {
  const least = columnOf(text, item.dashAt) + (comments === "same" ? 0 : 1);
  let end = nextLine(text, endOfLine(text, Math.max(item.dashAt + 1, text.slice(0, item.end).trimEnd().length)));
  for (let line = end; line < text.length; line = nextLine(text, endOfLine(text, line))) {
    const content = text.slice(line, endOfLine(text, line));
    if (content.trim() === "") continue;
    const indent = content.length - content.trimStart().length;
    if (!content.trimStart().startsWith("#") || indent < least) break;
    end = nextLine(text, endOfLine(text, line));
  }
  return end;
}

function startOfCommentsAbove(text: string, dashAt: number, column: number): number {
  let start = startOfLine(text, dashAt);
  while (start > 0) {
    const above = startOfLine(text, start - 1);
    const line = text.slice(above, start - 1);
    if (!line.startsWith(`${" ".repeat(column)}#`)) break;
    start = above;
  }
  return start;
}

function isBlankLineAbove(text: string, dashAt: number, column: number): boolean {
  const start = startOfCommentsAbove(text, dashAt, column);
  return start > 0 && text.slice(startOfLine(text, start - 1), start).trim() === "";
}

function isLineStart(text: string, offset: number): boolean {
  return text.slice(startOfLine(text, offset), offset).trim() === "";
}

function startOfLine(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf("\n", offset - 1) + 1;
}

function columnOf(text: string, offset: number): number {
  return offset - startOfLine(text, offset);
}

/** Returns the offset of the line break, or of the end of the text. */
function endOfLine(text: string, offset: number): number {
  const newline = text.indexOf("\n", offset);
  return newline === -1 ? text.length : newline;
}

function nextLine(text: string, lineEnd: number): number {
  return Math.min(text.length, lineEnd + 1);
}
