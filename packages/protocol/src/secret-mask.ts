import { closingQuote } from "./json-text.ts";
import { MASK, SECRET_NAMES } from "./secret-names.ts";

/**
 * Maximum levels of JSON in strings within JSON that are searched. A deeper string that looks like JSON is masked
 * whole.
 */
const MAX_NESTED_TEXTS = 4;
/** Maximum levels of arrays and objects that are searched. Deeper values are masked whole. */
const MAX_DEPTH = 512;
/** Maximum number of names whose result is cached, and maximum length of such a name. */
const MAX_REMEMBERED = 4_096;
const MAX_REMEMBERED_LENGTH = 128;

const SEPARATORS = /[-_.\s]/g;
/** Attributes that hold a URL or only its query, by the current and the earlier conventions of OpenTelemetry. */
const URLS: ReadonlySet<string> = new Set(["url.query", "url.full", "http.url", "http.target"]);
/** Matches every string in which `text` can find a secret. */
const MAY_HOLD_SECRET = /[=:@"]|-----BEGIN |\b(?:bearer|basic)\s/i;
const MAY_HOLD_TOKEN = /-----BEGIN |\b(?:bearer|basic)\s/i;
/**
 * The same pattern for a string within JSON, in which characters may be escaped. It does not contain the quote, because
 * each such string has quotes around it.
 */
const MAY_HOLD_SECRET_ESCAPED = /[=:@\\]|-----BEGIN |\b(?:bearer|basic)\s/i;
const SCHEME = /^(?:bearer|basic|token|apikey|digest|negotiate|aws4-hmac-sha256)\s+(?=\S)/i;
/** A token after the name of its scheme. A word without a digit may be prose, e.g. "basic settings". */
const SCHEME_AND_TOKEN = /\b(bearer|basic)\s+(?=[\w.~+/=-]*\d|[\w.~+/=-]{20})[\w.~+/=-]+/gi;
const PRIVATE_KEY = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)/g;

/** Masks secrets by their names. Never changes its input, and returns it unchanged if it contains no secret. */
export class SecretMask {
  readonly #parts: readonly string[];
  readonly #remembered = new Map<string, boolean>();
  /** A name in a string, with the separator before its value. Undefined without names. */
  readonly #named: RegExp | undefined;

  /** `names`: parts of names, compared as described for `SECRET_NAMES`. With none, nothing is masked. */
  constructor(names: readonly string[] = SECRET_NAMES) {
    this.#parts = names.map(plain).filter((part) => part !== "");
    // In strings, a name may have separators only where the name in the list has one. So the pattern has fewer
    // alternatives to try at each character.
    const written = names
      .map((name) => name.split(SEPARATORS).filter(Boolean).map(escaped).join("[-_.]?"))
      .filter(Boolean);
    this.#named =
      written.length === 0
        ? undefined
        : new RegExp(`(?:${written.join("|")})[\\w.-]{0,64}\\\\?["']?\\]?(?:\\s{0,3}=>?|\\s{0,3}:)\\s{0,3}`, "gi");
  }

  /** Returns whether the value of a member, attribute, header or variable of this name is a secret. */
  isSecretName(name: string): boolean {
    const known = this.#remembered.get(name);
    if (known !== undefined) return known;
    const wanted = plain(name);
    const isSecret = this.#parts.some((part) => wanted.includes(part));
    if (name.length > MAX_REMEMBERED_LENGTH) return isSecret;
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear();
    this.#remembered.set(name, isSecret);
    return isSecret;
  }

  /** Returns whether the value of this name is masked whole. Empty values are not: they reveal nothing. */
  hides(name: string, value: unknown): boolean {
    return value !== null && value !== undefined && value !== "" && this.isSecretName(name);
  }

  /** Masks the secret members of a JSON value, of any type, and what `text` finds in its strings. */
  value<Value>(value: Value): Value {
    return this.#parts.length === 0 ? value : (this.#value(value, 0) as Value);
  }

  /** Masks the value of one attribute or header as `value` does, or whole if its name is secret. */
  named<Value>(name: string, value: Value): Value | typeof MASK {
    if (this.#parts.length === 0) return value;
    if (this.hides(name, value)) return MASK;
    if (typeof value === "string" && URLS.has(name)) return this.text(this.#query(value)) as Value & string;
    return this.#value(value, 0) as Value;
  }

  /** Masks attributes by name, each as `named` does. */
  attributes<Attributes extends object>(attributes: Attributes): Attributes {
    return this.#parts.length === 0 ? attributes : this.#members(attributes, (name, value) => this.named(name, value));
  }

  /**
   * Masks in a string: users and passwords of addresses; values that follow a secret name and `=` or `:`, as in
   * headers, variables and queries; tokens after `Bearer` and `Basic`; private keys in PEM. A string that is JSON, or
   * the beginning of JSON, is masked as by `json`.
   */
  text(text: string): string {
    return this.#text(text, 0);
  }

  /**
   * Masks the values of secret members in JSON text and keeps the rest unchanged. The text may be truncated, and need
   * not be JSON.
   */
  json(text: string): string {
    return this.#parts.length === 0 ? text : this.#json(text, 0);
  }

  #value(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#text(value, 0);
    if (typeof value !== "object" || value === null) return value;
    const isList = Array.isArray(value);
    // An instance of a class is not a JSON value, e.g. a number that is held as a string.
    if (!isList && !isPlainObject(value)) return value;
    if (depth >= MAX_DEPTH) return MASK;
    if (!isList)
      return this.#members(value, (name, member) => (this.hides(name, member) ? MASK : this.#value(member, depth + 1)));
    const masked = (value as readonly unknown[]).map((item) => this.#value(item, depth + 1));
    return masked.some((item, index) => item !== value[index]) ? masked : value;
  }

  #members<Members extends object>(members: Members, mask: (name: string, member: unknown) => unknown): Members {
    let masked: [string, unknown][] | undefined;
    const names = Object.keys(members);
    for (const [index, name] of names.entries()) {
      const member = members[name as keyof Members] as unknown;
      const result = mask(name, member);
      if (masked === undefined && result === member) continue;
      masked ??= names.slice(0, index).map((earlier) => [earlier, members[earlier as keyof Members]]);
      masked.push([name, result]);
    }
    return masked === undefined ? members : (Object.fromEntries(masked) as Members);
  }

  #text(text: string, nesting: number): string {
    if (this.#named === undefined || !MAY_HOLD_SECRET.test(text)) return text;
    if (looksLikeJson(text)) return this.#json(text, nesting);
    let shown = withoutCredentials(text);
    if (looksLikeUrl(shown)) shown = this.#query(shown);
    shown = this.#namedValues(shown, this.#named);
    if (!MAY_HOLD_TOKEN.test(shown)) return shown;
    return shown.replace(PRIVATE_KEY, MASK).replace(SCHEME_AND_TOKEN, `$1 ${MASK}`);
  }

  /**
   * Masks the values that follow secret names. Reads each character only a few times, because the string is untrusted
   * and may be long.
   */
  #namedValues(text: string, named: RegExp): string {
    let shown = "";
    /** Number of characters of `text` that are in `shown`. */
    let done = 0;
    named.lastIndex = 0;
    for (let match = named.exec(text); match !== null; match = named.exec(text)) {
      const from = named.lastIndex;
      const { kept, end } = secretAfter(text, match);
      if (end === from + kept) continue;
      shown += `${text.slice(done, from + kept)}${MASK}`;
      done = end;
      named.lastIndex = end;
    }
    return done === 0 ? text : shown + text.slice(done);
  }

  /** Masks the values of secret parameters in a URL or a query, even if their names are percent-encoded. */
  #query(url: string): string {
    let shown = "";
    let done = 0;
    let at = 0;
    for (let equals = url.indexOf("="); equals !== -1; equals = url.indexOf("=", at)) {
      let start = equals;
      while (start > at && !isOneOf("?&#", url, start - 1)) start--;
      at = equals + 1;
      if (start === equals) continue;
      while (at < url.length && !isOneOf("&#", url, at)) at++;
      if (at === equals + 1 || !this.isSecretName(decoded(url.slice(start, equals)))) continue;
      shown += `${url.slice(done, equals + 1)}${MASK}`;
      done = at;
    }
    return done === 0 ? url : shown + url.slice(done);
  }

  /**
   * Reads only strings and the text that follows each string: a string before a colon is a name. Takes time in
   * proportion to the length of the text, except for strings within strings.
   */
  #json(text: string, nesting: number): string {
    let shown = "";
    let done = 0;
    let at = 0;
    for (;;) {
      const start = text.indexOf('"', at);
      if (start === -1) break;
      const end = endOfString(text, start);
      let next = afterSpace(text, end);
      if (text[next] !== ":") {
        const replacement = this.#stringInJson(text.slice(start, end), nesting);
        if (replacement !== undefined) {
          shown += text.slice(done, start) + replacement;
          done = end;
        }
        at = end;
        continue;
      }
      next = afterSpace(text, next + 1);
      at = next;
      if (!this.isSecretName(textOf(text.slice(start, end)))) continue;
      at = endOfValue(text, next);
      if (isEmptyValue(text.slice(next, Math.min(at, next + 8)))) continue;
      shown += `${text.slice(done, next)}"${MASK}"`;
      done = at;
    }
    return done === 0 ? text : shown + text.slice(done);
  }

  /** Masks a string that is itself JSON or contains a secret. Returns undefined if nothing changes. */
  #stringInJson(token: string, nesting: number): string | undefined {
    if (!MAY_HOLD_SECRET_ESCAPED.test(token)) return undefined;
    const inner = textOf(token);
    if (nesting >= MAX_NESTED_TEXTS && looksLikeJson(inner) && inner.includes('"')) return `"${MASK}"`;
    const shown = this.#text(inner, nesting + 1);
    return shown === inner ? undefined : JSON.stringify(shown);
  }
}

/**
 * Returns the position of the secret after a name and its separator (`match`): it begins `kept` characters after them,
 * e.g. after an opening quote or `Bearer `, and ends before `end`. Both positions are equal if there is none.
 */
function secretAfter(text: string, match: RegExpExecArray): { readonly kept: number; readonly end: number } {
  const [head] = match;
  const from = match.index + head.length;
  const nothing = { kept: 0, end: from };
  const isHeader = head.trimEnd().endsWith(":");
  const next = text[from];
  // No secret follows in a function id (`token::get`), an address (`token://`) or a comparison.
  if (next === undefined || ((next === ":" || next === "=") && !/\s$/.test(head)) || text.startsWith("//", from))
    return nothing;
  const quote = /^\\?["']/.exec(text.slice(from, from + 2))?.[0];
  if (quote !== undefined) {
    const closing = quote.length === 1 ? endOfQuotation(text, from) : endOfEscapedQuotation(text, from + quote.length);
    return { kept: quote.length, end: closing === -1 ? text.length : closing };
  }
  if (next === "{" || next === "[") return { kept: 0, end: endOfValue(text, from) };
  const scheme = SCHEME.exec(text.slice(from, from + 32));
  if (scheme !== null) {
    const kept = scheme[0].length;
    const isWord = /^(?:bearer|basic|token|apikey)/i.test(scheme[0]);
    return { kept, end: isWord ? endOf(WORD, text, from + kept) : endOfHeader(LINE, text, match.index, from + kept) };
  }
  if (/authorization|cookie/i.test(head))
    return { kept: 0, end: endOfHeader(isHeader ? LINE : LINE_OF_QUERY, text, match.index, from) };
  if (isHeader && VARIABLE_START.test(text.slice(Math.max(0, match.index - MAX_VARIABLE), match.index))) {
    const brace = text.slice(from, from + MAX_DEFAULT).indexOf("}");
    if (brace !== -1) return { kept: 0, end: from + brace };
  }
  const end = endOf(isHeader ? WORD : WORD_OF_QUERY, text, from);
  // No secret follows a colon in a sentence, as in "unknown token: this is prose".
  const isSecret = !isHeader || END_OF_ITEM.test(text.slice(end, end + 32)) || /\d/.test(text.slice(from, end));
  return isSecret ? { kept: 0, end } : nothing;
}

/** Ends at the next pair of a list, e.g. `a=1,b=2`. */
const WORD = /(?:[^\s"'`<>,;]|[,;](?!\s*[\w.-]+\s*[=:]))*/y;
const WORD_OF_QUERY = /(?:[^\s"'`<>&#,;]|[,;](?!\s*[\w.-]+\s*[=:]))*/y;
const LINE = /[^\n\r]*/y;
const LINE_OF_QUERY = /[^\n\r&#]*/y;
/** `${NAME`, up to the secret part of the name. `:` and a default follow. */
const VARIABLE_START = /\$\{\w*$/;
const MAX_VARIABLE = 128;
/** Maximum length of a default in which `}` is searched, in characters. */
const MAX_DEFAULT = 1_024;
const END_OF_ITEM = /^\s*(?:$|[\n\r,;"'`])/;

function endOf(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  pattern.exec(text);
  return pattern.lastIndex;
}

/**
 * Returns the index of the quote that closes the quotation opened at `from`, or -1. Ignores quotes after a backslash.
 */
function endOfQuotation(text: string, from: number): number {
  const quote = text[from];
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === quote) return at;
  }
  return -1;
}

/**
 * Does the same as `endOfQuotation` within a string that is itself quoted: `\"` closes the quotation, and `\\\"` is a
 * quote in it. Returns the index of the backslash.
 */
function endOfEscapedQuotation(text: string, from: number): number {
  const quote = text[from - 1];
  let backslashes = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\\") backslashes++;
    else if (text[at] === quote && backslashes % 4 === 1) return at - 1;
    else backslashes = 0;
  }
  return -1;
}

/**
 * Returns the end of a header's value: the end of its line, or of the quotation that contains the header, as in `-H
 * 'Cookie: a="b"'`.
 */
function endOfHeader(line: RegExp, text: string, name: number, from: number): number {
  let start = name;
  while (start > 0 && /[\w.-]/.test(text[start - 1] as string)) start--;
  // One pass up to the quote: a search for the end of the line at each header would take quadratic time.
  const quoted = start === 0 ? undefined : UP_TO_QUOTE.get(text[start - 1] as string);
  return endOf(quoted ?? line, text, from);
}

/** Patterns by quote. Each matches the text up to this quote. Quotes after a backslash are ignored. */
const UP_TO_QUOTE: ReadonlyMap<string, RegExp> = new Map(
  ['"', "'", "`"].map((quote) => [quote, new RegExp(`(?:\\\\.|[^\\n\\r\\\\${quote}])*`, "y")]),
);

/** Masks the user and the password of each address, even if a password contains `/`, `#` or `@`. */
function withoutCredentials(text: string): string {
  if (!text.includes("@")) return text;
  let shown = "";
  /** Number of characters of `text` that are in `shown`. */
  let done = 0;
  /** End of the last examined address, and its last `@`. */
  let end = 0;
  let lastAt = -1;
  for (const { index } of text.matchAll(ADDRESS_START)) {
    const afterSlashes = text.indexOf("//", index) + 2;
    let from = afterSlashes;
    while (text[from] === "/") from++;
    // With more than two slashes it is probably a path, as in `file:///node_modules/@scope/x.js`. But it may also be an
    // address, because browsers ignore additional slashes.
    const maybePath = from > afterSlashes;
    if (from < done) continue;
    // An address may contain further starts. Searching for its end only once keeps the time linear.
    if (from >= end) {
      end = endOfAddress(text, from);
      // Search in the address only, because a search back through the whole text would take quadratic time.
      lastAt = from + text.slice(from, end).lastIndexOf("@");
    }
    if (lastAt < from) continue;
    const [authority = ""] = text.slice(from, end).split(/[/?#]/, 1);
    if (maybePath && !authority.includes(":")) continue;
    const mayHoldSlash =
      HAS_NO_PORT.test(authority) ||
      (!maybePath && OTHER_SCHEME.test(text.slice(Math.max(0, index - MAX_SCHEME), index)));
    const at = mayHoldSlash ? lastAt : from + authority.lastIndexOf("@");
    if (at < from) continue;
    shown += `${text.slice(done, from)}${MASK}`;
    done = at;
  }
  return done === 0 ? text : shown + text.slice(done);
}

/** `//` after a scheme, or at the beginning of a word. */
const ADDRESS_START = /(?:(?<=:)|(?<![^\s"'`=(,]))\/\//g;
const ADDRESS_END = /[\s"'`<>]|:\/\//g;
/** Before `//`: a scheme whose addresses are unlikely to contain `@` after the host, e.g. `redis:`. */
const OTHER_SCHEME = /(?:^|[^a-z0-9+.-])(?!https?:|wss?:)[a-z][a-z0-9+.-]*:$/i;
const MAX_SCHEME = 32;
/** `user:password` in place of `host:port`. */
const HAS_NO_PORT = /^[^:[\]@]*:(?!\d*$)[^@]*$/;

function endOfAddress(text: string, from: number): number {
  ADDRESS_END.lastIndex = from;
  return ADDRESS_END.exec(text)?.index ?? text.length;
}

function plain(name: string): string {
  return name.replace(SEPARATORS, "").toLowerCase();
}

function escaped(word: string): string {
  return word.replace(/[\^$\\.*+?()[\]{}|/-]/g, "\\$&");
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
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

/** Returns whether a text is JSON with strings in it, or the beginning of such JSON. `[info] started` is not. */
function looksLikeJson(text: string): boolean {
  const start = afterSpace(text, 0);
  if (text[start] === '"') return afterSpace(text, endOfString(text, start)) === text.length;
  const next = text[afterSpace(text, start + 1)];
  if (text[start] === "{") return next === undefined || next === '"' || next === "}";
  return (
    text[start] === "[" &&
    (next === undefined ||
      '"{[]-0123456789'.includes(next) ||
      /^(?:true|false|null)\b/.test(text.slice(start + 1, start + 64).trimStart()))
  );
}

/** A query after a path or an address, as in the `url` of requests. */
function looksLikeUrl(text: string): boolean {
  const query = text.indexOf("?");
  return query !== -1 && text.indexOf("=", query) !== -1 && /^[^\s?]*\?[^\s=]*=/.test(text);
}

/** Returns the index after the string that begins at `start`. A truncated text may end inside it. */
function endOfString(text: string, start: number): number {
  const quote = closingQuote(text, start);
  return quote === -1 ? text.length : quote + 1;
}

function afterSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++;
  return at;
}

/** Returns the index after the value that begins at `start`, or the length of the text if the value does not end. */
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
      // The end of the enclosing object or array.
      if (depth === 0) return at;
      depth--;
      if (depth === 0) return at + 1;
    } else if (character === "," && depth === 0) return at;
    at++;
  }
  return text.length;
}

function isEmptyValue(text: string): boolean {
  return /^(?:null|"")\s*$/.test(text);
}

/** Returns the value of a string token, even of a truncated one. */
function textOf(token: string): string {
  if (!token.includes("\\") && token.length > 1 && token.endsWith('"')) return token.slice(1, -1);
  const closed = token.length > 1 && token.endsWith('"') ? token : `${token.replace(/\\(u[0-9a-fA-F]{0,3})?$/, "")}"`;
  try {
    return JSON.parse(closed) as string;
  } catch {
    return leniently(closed.slice(1, -1));
  }
}

/** Reads a string that is not valid JSON, e.g. because of a line break in it, so that a mistake exposes no secret. */
function leniently(text: string): string {
  return text.replace(/\\(u([0-9a-fA-F]{4})|.)/gs, (_all, escapedCharacter: string, hex: string | undefined) =>
    hex === undefined ? escapedCharacter : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
