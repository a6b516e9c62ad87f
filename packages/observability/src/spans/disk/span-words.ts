import { otherNameOf, textOfValue } from "../../query/attributes.ts";
import { WordSearch, wordsOf } from "../../query/word-search.ts";
import type { SpanRecord } from "../../telemetry-records.ts";
import { INDEXED_FIELDS, type Lookup, textsOf, WORKER } from "../trace-match.ts";

/** Maximum number of words of one span in the index. The index does not find further words. */
const MAX_WORDS = 512;
const MAX_ATTRIBUTES = 256;

/**
 * Returns the index entry of a span: its words, and two tokens for each attribute. One token is for the name, the other
 * for name and value. Tokens begin with `_`, so that they differ from all words. They are hashes, because values may be
 * long and contain any characters.
 */
export function indexedWords(span: SpanRecord): string {
  const tokens = new Set<string>();
  addTexts(tokens, span);
  for (const field of INDEXED_FIELDS) addAttribute(tokens, field, field === "name" ? span.name : span.resource.service);
  tokens.add(valueToken(WORKER, span.resource.service));
  if (span.resource.workerId !== undefined) tokens.add(valueToken(WORKER, span.resource.workerId));
  const { attributes } = span;
  let count = 0;
  for (const key in attributes) {
    const value = attributes[key];
    if (value === undefined) continue;
    count += 1;
    if (count > MAX_ATTRIBUTES) break;
    addAttribute(tokens, key, textOfValue(value));
    const other = otherNameOf(key);
    if (other !== undefined && !Object.hasOwn(attributes, other)) addAttribute(tokens, other, textOfValue(value));
  }
  return [...tokens].join(" ");
}

function addTexts(tokens: Set<string>, span: SpanRecord): void {
  for (const text of textsOf(span)) {
    for (const word of wordsOf(text)) {
      if (tokens.size >= MAX_WORDS) return;
      tokens.add(word);
    }
  }
}

function addAttribute(tokens: Set<string>, key: string, value: string): void {
  tokens.add(keyToken(key));
  tokens.add(valueToken(key, value));
}

/** Returns the index query for a lookup. */
export function wordQuery(lookup: Lookup): string {
  if (lookup.by === "key") return `"${keyToken(lookup.key)}"`;
  if (lookup.by === "value") return `"${valueToken(lookup.key, lookup.value)}"`;
  return lookup.words.map((word) => (WordSearch.isBeginning(word) ? `"${word}" *` : `"${word}"`)).join(" AND ");
}

export function serviceQuery(names: readonly string[]): string {
  return names.map((name) => `"${valueToken("service", name)}"`).join(" OR ");
}

function keyToken(key: string): string {
  return `_k${hash(key)}`;
}

function valueToken(key: string, value: string): string {
  return `_v${hash(`${key}\0${value}`)}`;
}

/** Returns a 64-bit hash of the UTF-16 units. A collision does little harm: it only adds a wrong trace to a list. */
function hash(text: string): string {
  let a = 0x9e3779b9;
  let b = 0x85ebca6b;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    a = Math.imul(a ^ unit, 0x9e3779b1);
    b = Math.imul(b ^ unit, 0x5f356495);
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
  return (a >>> 0).toString(36) + (b >>> 0).toString(36).padStart(7, "0");
}
