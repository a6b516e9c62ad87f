// Reads JSON text without building values: where tokens and values end, how deep they nest, and where a text stops
// being JSON. No function here recurses, so deep texts cannot exhaust the stack. This file imports nothing, because the
// console's page and the store thread load it.

const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

/** Returns the index of the first character at or after `from` that is not white space. */
export function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

/** Returns the index of the quote that closes the string opened at `open`, or -1 if there is none. */
export function closingQuote(text: string, open: number): number {
  let at = text.indexOf('"', open + 1);
  while (at !== -1) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return at;
    at = text.indexOf('"', at + 1);
  }
  return -1;
}

/** Returns the index behind the string that begins at `from`, or -1 if it is not closed. */
function endOfString(text: string, from: number): number {
  const quote = closingQuote(text, from);
  return quote === -1 ? -1 : quote + 1;
}

/** Returns the index behind the number or word that begins at `from`. */
function endOfLiteral(text: string, from: number): number {
  let at = from;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || isSpace(code)) break;
  }
  return at;
}

/**
 * Returns the index behind the token that begins at `from`: a string, a number, a word, or one of `{}[],:`. In a text
 * that is not JSON, a token may be anything; it has at least one character.
 */
export function endOfToken(text: string, from: number): number {
  const code = text.charCodeAt(from);
  if (code === QUOTE) {
    const end = endOfString(text, from);
    return end === -1 ? text.length : end;
  }
  const isPunctuation =
    code === COMMA ||
    code === COLON ||
    code === OPEN_BRACE ||
    code === CLOSE_BRACE ||
    code === OPEN_BRACKET ||
    code === CLOSE_BRACKET;
  return isPunctuation ? from + 1 : endOfLiteral(text, from);
}

/**
 * Returns the index behind the value that begins at `from`, or -1 if there is no value, it does not end, or it nests
 * deeper than `maxDepth` (default: any depth). Checks that brackets balance, not the grammar.
 */
export function endOfValue(text: string, from: number, maxDepth: number = text.length): number {
  const first = text.charCodeAt(from);
  if (first === QUOTE) return endOfString(text, from);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return endOfNested(text, from, maxDepth);
  const end = endOfLiteral(text, from);
  return end === from ? -1 : end;
}

function endOfNested(text: string, from: number, maxDepth: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = closingQuote(text, at);
      if (at === -1) return -1;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > maxDepth) return -1;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (--depth === 0) return at + 1;
    }
  }
  return -1;
}

/** Returns true if objects and arrays nest deeper than `limit` anywhere in the text. */
export function nestsDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = closingQuote(text, at);
      if (at === -1) return false;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > limit) return true;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth--;
    }
  }
  return false;
}

/**
 * Returns the text of each member's value by name, so that numbers keep all their digits. For a repeated name, returns
 * the last value, as `JSON.parse` does. Throws SyntaxError if `object` is not an object; other faults may go unnoticed.
 */
export function memberTexts(object: string): Map<string, string> {
  const members = new Map<string, string>();
  let at = firstPart(object, OPEN_BRACE);
  while (object.charCodeAt(at) !== CLOSE_BRACE) {
    const quote = object.charCodeAt(at) === QUOTE ? closingQuote(object, at) : -1;
    if (quote === -1) throw new SyntaxError(`expected a member's name at position ${at}`);
    const colon = skipSpace(object, quote + 1);
    if (object.charCodeAt(colon) !== COLON) throw new SyntaxError(`expected ":" at position ${colon}`);
    const start = skipSpace(object, colon + 1);
    const end = endOfPart(object, start);
    const name = object.slice(at + 1, quote);
    members.set(name.includes("\\") ? (JSON.parse(`"${name}"`) as string) : name, object.slice(start, end));
    at = nextPart(object, end, CLOSE_BRACE);
  }
  return members;
}

/** Returns the text of each element. Throws SyntaxError if `array` is not an array; other faults may go unnoticed. */
export function elementTexts(array: string): string[] {
  const elements: string[] = [];
  let at = firstPart(array, OPEN_BRACKET);
  while (array.charCodeAt(at) !== CLOSE_BRACKET) {
    const end = endOfPart(array, at);
    elements.push(array.slice(at, end));
    at = nextPart(array, end, CLOSE_BRACKET);
  }
  return elements;
}

function firstPart(text: string, opening: number): number {
  const at = skipSpace(text, 0);
  if (text.charCodeAt(at) !== opening)
    throw new SyntaxError(`expected "${String.fromCharCode(opening)}" at position ${at}`);
  return skipSpace(text, at + 1);
}

function endOfPart(text: string, start: number): number {
  const end = endOfValue(text, start);
  if (end === -1) throw new SyntaxError(`expected a whole value at position ${start}`);
  return end;
}

/** Returns where the part behind the next comma begins, or the index of the closing bracket. */
function nextPart(text: string, end: number, closing: number): number {
  const at = skipSpace(text, end);
  const code = text.charCodeAt(at);
  if (code === COMMA) return skipSpace(text, at + 1);
  if (code !== closing) throw new SyntaxError(`expected "," or "${String.fromCharCode(closing)}" at position ${at}`);
  return at;
}

/** Returns the JSON escape of each UTF-16 unit, e.g. `\u001b`. */
export function jsonEscape(characters: string): string {
  return characters
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}

/** Where a text stops being JSON. Offsets count UTF-16 units. */
export interface JsonFault extends FaultyToken {
  /** Line of `offset`, from 1. */
  readonly line: number;
  /** Column of `offset`, from 1. */
  readonly column: number;
  /** The character at `offset`, quoted, or `end of the text`. */
  readonly found: string;
}

interface FaultyToken {
  /** Index of the first character that cannot be there; the text's length if the text ends too early. */
  readonly offset: number;
  /** Index at which the faulty token begins. Smaller than `offset` only for a fault inside a string. */
  readonly tokenStart: number;
  /** Description of the tokens that are allowed at `tokenStart`, e.g. `a JSON value`. */
  readonly expected: string;
}

/** Returns the first fault of a text, or undefined if it is JSON. Accepts exactly what `JSON.parse` accepts. */
export function findJsonFault(text: string): JsonFault | undefined {
  const token = findFaultyToken(text);
  if (token === undefined) return undefined;
  const { offset } = token;
  let line = 1;
  let lineStart = 0;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", lineStart)) {
    line++;
    lineStart = at + 1;
  }
  const character = text.codePointAt(offset);
  const found = character === undefined ? "end of the text" : JSON.stringify(String.fromCodePoint(character));
  return { ...token, line, column: offset - lineStart + 1, found };
}

/** The tokens that are allowed next. */
interface Expected {
  /** First characters of the tokens; `0` for numbers and words. */
  readonly tokens: string;
  readonly words: string;
}

const VALUE: Expected = { tokens: '{["0', words: "a JSON value" };
const FIRST_ELEMENT: Expected = { tokens: '{["0]', words: "a JSON value" };
const KEY: Expected = { tokens: '"', words: "a key in double quotes" };
const FIRST_KEY: Expected = { tokens: '"}', words: 'a key in double quotes, or "}"' };
const KEY_END: Expected = { tokens: ":", words: '":" after the key' };
const MEMBER_END: Expected = { tokens: ",}", words: '"," or "}"' };
const ELEMENT_END: Expected = { tokens: ",]", words: '"," or "]"' };
const TEXT_END: Expected = { tokens: "", words: "nothing more" };

/** Separate from `findJsonFault`: when both were one function, V8 repeated the search for line ends for each token. */
function findFaultyToken(text: string): FaultyToken | undefined {
  /** The opening brackets that are not closed yet. */
  const open: string[] = [];
  let expected = VALUE;
  for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, at)) {
    const first = text[at] as string;
    const token = '{}[],:"'.includes(first) ? first : "0";
    if (!expected.tokens.includes(token)) return { offset: at, tokenStart: at, expected: expected.words };
    const end = endOfValidToken(text, at);
    if (end < 0) {
      const isBadValue = token === '"' && expected.tokens.includes("{");
      return {
        offset: ~end,
        tokenStart: at,
        expected: isBadValue ? "a string that is closed and well escaped" : expected.words,
      };
    }
    expected = expectedAfter(token, expected, open);
    at = end;
  }
  return expected === TEXT_END ? undefined : { offset: text.length, tokenStart: text.length, expected: expected.words };
}

/** Returns what may follow the token, and keeps `open` up to date. */
function expectedAfter(token: string, expected: Expected, open: string[]): Expected {
  switch (token) {
    case "{":
    case "[":
      open.push(token);
      return token === "{" ? FIRST_KEY : FIRST_ELEMENT;
    case ":":
      return VALUE;
    case ",":
      return open.at(-1) === "{" ? KEY : VALUE;
    case '"':
      if (expected === KEY || expected === FIRST_KEY) return KEY_END;
      break;
    case "}":
    case "]":
      open.pop();
  }
  const inside = open.at(-1);
  if (inside === undefined) return TEXT_END;
  return inside === "{" ? MEMBER_END : ELEMENT_END;
}

const NUMBER_OR_WORD = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON strings must not contain them
const END_OF_PLAIN_PART = /["\\\u0000-\u001f]/g;

/**
 * Returns the index behind the token at `start`; if the token is faulty, the bitwise complement of the first fault's
 * index.
 */
function endOfValidToken(text: string, start: number): number {
  const first = text[start] as string;
  if (first === '"') return endOfValidString(text, start);
  if ("{}[],:".includes(first)) return start + 1;
  NUMBER_OR_WORD.lastIndex = start;
  return NUMBER_OR_WORD.test(text) ? NUMBER_OR_WORD.lastIndex : ~start;
}

/**
 * Reads from escape to escape, because one pattern for the whole string would need stack for each of its characters.
 */
function endOfValidString(text: string, start: number): number {
  for (let at = start + 1; ; at = ESCAPE.lastIndex) {
    END_OF_PLAIN_PART.lastIndex = at;
    const end = END_OF_PLAIN_PART.exec(text)?.index ?? text.length;
    if (text[end] === '"') return end + 1;
    ESCAPE.lastIndex = end;
    if (!ESCAPE.test(text)) return ~end;
  }
}
