import type { Attributes, AttributeValue } from "../../../kernel/telemetry-contract.ts";

/** Stands in place of what is not shown. */
export const MASK = "***";

/** JSON within strings within JSON: how far it is followed. Deeper strings that look like JSON are masked. */
const MAX_NESTED_TEXTS = 4;
/** Attributes within attributes likewise. */
const MAX_DEPTH = 32;

/** Attributes that hold a URL or its query, by OpenTelemetry's conventions of today and of before. */
const URLS: ReadonlySet<string> = new Set(["url.query", "url.full", "http.url", "http.target"]);

/** Hides what must not be shown, at reading: what was recorded stays as it is, so that a change of the keys takes effect on it as well. */
export class Redactor {
  readonly #keys: readonly string[];

  /** `keys`: parts of names, case-blind; `-`, `_`, `.` and spaces count for nothing, so that `api_key` is `apiKey` as well. */
  constructor(keys: readonly string[]) {
    this.#keys = keys.map(plain).filter((key) => key !== "");
  }

  /** Whether the value of a member or an attribute of this name is hidden. */
  hides(name: string): boolean {
    const wanted = plain(name);
    return this.#keys.some((key) => wanted.includes(key));
  }

  /** JSON text with the values of hidden members masked. The text may be cut off anywhere, and need not be JSON at all. */
  json(text: string): string {
    return this.#keys.length === 0 ? text : this.#json(text, 0);
  }

  /** A value that may be, or may contain, JSON as text. */
  value(value: AttributeValue): AttributeValue {
    return this.#value(value, 0);
  }

  attributes(attributes: Attributes): Attributes {
    if (this.#keys.length === 0) return attributes;
    const shown: Record<string, AttributeValue> = Object.create(null) as Record<string, AttributeValue>;
    for (const name of Object.keys(attributes)) shown[name] = this.attribute(name, attributes[name] ?? null);
    return shown;
  }

  /** The value of one attribute as it may be shown. */
  attribute(name: string, value: AttributeValue): AttributeValue {
    if (this.hides(name)) return MASK;
    if (typeof value === "string" && URLS.has(name)) return this.query(value);
    return this.#value(value, 0);
  }

  /** A URL, or only its query, with the values of hidden parameters masked. */
  query(url: string): string {
    let shown = "";
    /** What of `url` is in `shown`. */
    let done = 0;
    let at = 0;
    // Each character is looked at a few times at most: the text may come from anywhere, and be long.
    for (let equals = url.indexOf("="); equals !== -1; equals = url.indexOf("=", at)) {
      let start = equals;
      while (start > at && !isOneOf("?&#", url, start - 1)) start--;
      at = equals + 1;
      if (start === equals) continue;
      while (at < url.length && !isOneOf("&#", url, at)) at++;
      if (!this.hides(decoded(url.slice(start, equals)))) continue;
      shown += `${url.slice(done, equals + 1)}${MASK}`;
      done = at;
    }
    return done === 0 ? url : shown + url.slice(done);
  }

  #value(value: AttributeValue, depth: number): AttributeValue {
    if (typeof value === "string") return looksLikeJson(value) ? this.json(value) : looksLikeUrl(value) ? this.query(value) : value;
    if (typeof value !== "object" || value === null) return value;
    if (depth >= MAX_DEPTH) return MASK;
    if (isList(value)) return value.map((element) => this.#value(element, depth + 1));
    const shown: Record<string, AttributeValue> = Object.create(null) as Record<string, AttributeValue>;
    for (const name of Object.keys(value)) shown[name] = this.hides(name) ? MASK : this.#value(value[name] ?? null, depth + 1);
    return shown;
  }

  /** Looks only at strings and what follows them: a string before a colon is a name. Linear in the text's length, except for texts within texts. */
  #json(text: string, nesting: number): string {
    let shown = "";
    /** What of `text` is in `shown`. */
    let done = 0;
    let at = 0;
    for (;;) {
      const start = text.indexOf('"', at);
      if (start === -1) break;
      const end = endOfString(text, start);
      let next = afterSpace(text, end);
      if (text[next] !== ":") {
        const replacement = this.#nestedText(text.slice(start, end), nesting);
        if (replacement !== undefined) {
          shown += text.slice(done, start) + replacement;
          done = end;
        }
        at = end;
        continue;
      }
      next = afterSpace(text, next + 1);
      if (this.hides(stringOf(text.slice(start, end)))) {
        shown += `${text.slice(done, next)}"${MASK}"`;
        done = endOfValue(text, next);
        at = done;
      } else at = next;
    }
    return done === 0 ? text : shown + text.slice(done);
  }

  /** A string that holds JSON, or a URL with a query, masked in the same way; undefined when there is nothing to change. */
  #nestedText(token: string, nesting: number): string | undefined {
    if (looksLikeUrl(token)) {
      const url = stringOf(token);
      const shown = this.query(url);
      if (shown !== url) return JSON.stringify(shown);
    }
    const opening = token.charCodeAt(1);
    if (opening !== 0x7b && opening !== 0x5b && opening !== 0x22 && opening !== 0x5c && opening !== 0x20) return undefined;
    const inner = stringOf(token);
    if (!looksLikeJson(inner) || !inner.includes('"')) return undefined;
    if (nesting >= MAX_NESTED_TEXTS) return `"${MASK}"`;
    const shown = this.#json(inner, nesting + 1);
    return shown === inner ? undefined : JSON.stringify(shown);
  }
}

function isList(value: AttributeValue): value is readonly AttributeValue[] {
  return Array.isArray(value);
}

function plain(name: string): string {
  return name.replace(/[-_.\s]/g, "").toLowerCase();
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isOneOf(characters: string, text: string, at: number): boolean {
  return characters.includes(text[at] as string);
}

function looksLikeJson(text: string): boolean {
  return /^\s*[{["]/.test(text);
}

/** A query behind a path or an address, as requests carry it in their `url`. Prose with a question mark has a space somewhere before its `=`. */
function looksLikeUrl(text: string): boolean {
  const query = text.indexOf("?");
  return query !== -1 && text.indexOf("=", query) !== -1 && /^"?[^\s?"]*\?[^\s=]*=/.test(text);
}

/** Past the closing quote of the string that begins at `start`, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) at++;
    else if (code === 0x22) return at + 1;
  }
  return text.length;
}

function afterSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++;
  return at;
}

/** Past the value that begins at `start`, whatever it holds, or the end of the text. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const character = text[at];
    if (character === '"') {
      at = endOfString(text, at);
      if (depth === 0) return at;
      continue;
    }
    if (character === "{" || character === "[") depth++;
    else if (character === "}" || character === "]") {
      // The end of what the member is in.
      if (depth === 0) return at;
      depth--;
      if (depth === 0) return at + 1;
    } else if (character === "," && depth === 0) return at;
    at++;
  }
  return text.length;
}

/** What a string token says, also one that is cut off. */
function stringOf(token: string): string {
  const closed = token.length > 1 && token.endsWith('"') ? token : `${token.replace(/\\(u[0-9a-fA-F]{0,3})?$/, "")}"`;
  try {
    return JSON.parse(closed) as string;
  } catch {
    return leniently(closed.slice(1, -1));
  }
}

/** Not quite JSON, e.g. with a line break in a string: still read, so that nobody hides a name by a mistake. */
function leniently(text: string): string {
  return text.replace(/\\(u([0-9a-fA-F]{4})|.)/gs, (_all, escaped: string, hex: string | undefined) =>
    hex === undefined ? escaped : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
