import { isDeepStrictEqual } from "node:util";
import { Document, isMap, isScalar, isSeq, parseDocument, stringify, type YAMLMap, YAMLSeq } from "yaml";
import { appendItem, type ListPlace, placeOfList, removeItems } from "./list-splice.ts";

/** A list of entries in a valid config file. */
export interface EntryList {
  /** `workers` or the older `modules`. */
  readonly key: string;
  /** Entries as written: variables in them are not replaced. */
  readonly entries: readonly unknown[];
}

const PARSE_OPTIONS = { stringKeys: true, prettyErrors: false, schema: "core", keepSourceTokens: true } as const;
const TO_JS = { maxAliasCount: -1 } as const;
const TO_TEXT = { lineWidth: 0 } as const;

/** Returns the lists of entries in a config file's text. */
export function entryLists(text: string): EntryList[] {
  const top = topOf(parseDocument(text, PARSE_OPTIONS));
  return ["workers", "modules"]
    .filter((key) => Object.hasOwn(top, key))
    .map((key) => ({ key, entries: listOf(top, key) }));
}

/**
 * Returns the text with one more entry at the end of its list, or undefined if that cannot be done safely. If the
 * layout allows it, all other bytes stay the same.
 */
export function withEntry(
  text: string,
  entry: Readonly<Record<string, unknown>>,
  { comment }: { readonly comment: string | undefined },
): string | undefined {
  const document = parseDocument(text, PARSE_OPTIONS);
  const top = topOf(document);
  const key = Object.hasOwn(top, "workers") || !Object.hasOwn(top, "modules") ? "workers" : "modules";
  const wanted = { ...top, [key]: [...listOf(top, key), entry] };
  const lines = [...commentLines(comment), ...stringify([entry], TO_TEXT).trimEnd().split("\n")];
  const spliced = appendItem(text, placeOf(document, key), { key, lines });
  if (spliced !== undefined && means(spliced, wanted)) return spliced;
  const rewritten = rewrittenWithEntry(document, key, { entry, comment });
  return means(rewritten, wanted) ? rewritten : undefined;
}

/**
 * Returns the text without the matching entries, or undefined if that cannot be done safely. A list that becomes empty
 * is written as `[]`.
 */
export function withoutEntries(text: string, matches: (entry: unknown) => boolean): string | undefined {
  let result: string | undefined = text;
  for (const { key, entries } of entryLists(text)) {
    const indexes = new Set(entries.flatMap((entry, index) => (matches(entry) ? [index] : [])));
    if (result !== undefined && indexes.size > 0) result = withoutIndexes(result, key, indexes);
  }
  return result;
}

function withoutIndexes(text: string, key: string, indexes: ReadonlySet<number>): string | undefined {
  const document = parseDocument(text, PARSE_OPTIONS);
  const top = topOf(document);
  const wanted = { ...top, [key]: listOf(top, key).filter((_, index) => !indexes.has(index)) };
  const spliced = removeItems(text, placeOf(document, key), indexes);
  if (spliced !== undefined && means(spliced, wanted)) return spliced;
  const list = document.get(key);
  if (!isSeq(list)) return undefined;
  list.items = list.items.filter((_, index) => !indexes.has(index));
  if (list.items.length === 0) list.flow = true;
  const rewritten = document.toString(TO_TEXT);
  return means(rewritten, wanted) ? rewritten : undefined;
}

/** True if the text is valid YAML with exactly the wanted content. This is the last check of an edit. */
function means(text: string, wanted: Readonly<Record<string, unknown>>): boolean {
  const document = parseDocument(text, PARSE_OPTIONS);
  return document.errors.length === 0 && isDeepStrictEqual(topOf(document), wanted);
}

function rewrittenWithEntry(
  document: Document.Parsed,
  key: string,
  { entry, comment }: { readonly entry: Readonly<Record<string, unknown>>; readonly comment: string | undefined },
): string {
  const node = document.createNode(entry);
  if (comment !== undefined)
    node.commentBefore = commentLines(comment)
      .map((line) => line.slice(1))
      .join("\n");
  if (document.contents === null || !isMap(document.contents)) return new Document({ [key]: [node] }).toString(TO_TEXT);
  const top: YAMLMap = document.contents;
  top.flow = false;
  const list = top.get(key);
  if (isSeq(list)) {
    list.flow = false;
    list.add(node);
  } else {
    const fresh = new YAMLSeq();
    fresh.add(node);
    top.set(key, fresh);
  }
  return document.toString(TO_TEXT);
}

function commentLines(comment: string | undefined): string[] {
  return comment === undefined ? [] : comment.split(/\r?\n/).map((line) => `# ${line}`.trimEnd());
}

function topOf(document: Document.Parsed): Record<string, unknown> {
  const value: unknown = document.toJS(TO_JS);
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function listOf(top: Readonly<Record<string, unknown>>, key: string): readonly unknown[] {
  const list = Object.hasOwn(top, key) ? top[key] : [];
  return Array.isArray(list) ? list : [];
}

function placeOf(document: Document.Parsed, key: string): ListPlace {
  if (document.contents === null) return { kind: "absent", afterContent: false };
  if (!isMap(document.contents) || document.contents.flow) return { kind: "unknown" };
  for (const pair of document.contents.items) {
    if (isScalar(pair.key) && pair.key.value === key) return placeOfList(pair.key, pair.value);
  }
  return { kind: "absent", afterContent: true };
}
