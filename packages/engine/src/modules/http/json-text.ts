/** Where a text stops being JSON, for messages to people. */
export interface JsonFault {
  /** Index of the first character that cannot stand there. */
  readonly offset: number;
  /** 1-based. */
  readonly line: number;
  /** 1-based, in UTF-16 units. */
  readonly column: number;
  /** The character, quoted, or `end of the text`. */
  readonly found: string;
}

const SPACE = /[ \t\n\r]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /true|false|null/y;

/** Finds the first fault in a text that `JSON.parse` refused. Only runs on refused texts; does not recurse, so depth is no danger. */
export function findJsonFault(text: string): JsonFault {
  return describe(text, faultOffset(text));
}

function describe(text: string, offset: number): JsonFault {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  let line = 1;
  for (let at = before.indexOf("\n"); at !== -1; at = before.indexOf("\n", at + 1)) line++;
  const character = text.codePointAt(offset);
  return {
    offset,
    line,
    column: offset - lineStart + 1,
    found: character === undefined ? "end of the text" : JSON.stringify(String.fromCodePoint(character)),
  };
}

const QUOTE = 34;
const BACKSLASH = 92;

function faultOffset(text: string): number {
  const walk = new JsonWalk(text);
  while (walk.step());
  return walk.at;
}

/** What may come next. */
type Expectation = "value" | "value or ]" | "key" | "key or }" | "colon" | "comma or end";

/** Goes through a text piece by piece, as far as it is JSON. */
class JsonWalk {
  /** Index of what comes next; on a fault, of the fault. */
  at = 0;
  readonly #text: string;
  readonly #open: ("{" | "[")[] = [];
  #expected: Expectation = "value";

  constructor(text: string) {
    this.#text = text;
  }

  /** Takes one piece. False when what comes next is a fault, or behind the whole value. */
  step(): boolean {
    this.#take(SPACE);
    switch (this.#expected) {
      case "comma or end":
        return this.#commaOrEnd();
      case "colon":
        return this.#text[this.at] === ":" && this.#pass("value");
      case "key or }":
        if (this.#text[this.at] === "}") return this.#close();
        return this.#key();
      case "key":
        return this.#key();
      case "value or ]":
        if (this.#text[this.at] === "]") return this.#close();
        return this.#value();
      case "value":
        return this.#value();
    }
  }

  #commaOrEnd(): boolean {
    const inside = this.#open.at(-1);
    const character = this.#text[this.at];
    if (inside === undefined) return false;
    if (character === (inside === "{" ? "}" : "]")) return this.#close();
    return character === "," && this.#pass(inside === "{" ? "key" : "value");
  }

  #key(): boolean {
    if (this.#text[this.at] !== '"' || !this.#takeString()) return false;
    this.#expected = "colon";
    return true;
  }

  #value(): boolean {
    const character = this.#text[this.at];
    if (character === "{" || character === "[") {
      this.#open.push(character);
      return this.#pass(character === "{" ? "key or }" : "value or ]");
    }
    this.#expected = "comma or end";
    return character === '"' ? this.#takeString() : this.#take(NUMBER) || this.#take(WORD);
  }

  #close(): boolean {
    this.#open.pop();
    return this.#pass("comma or end");
  }

  #pass(expected: Expectation): true {
    this.at++;
    this.#expected = expected;
    return true;
  }

  #take(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.#text)) return false;
    this.at = pattern.lastIndex;
    return true;
  }

  /** By hand, because a regular expression of this shape would need stack for every character. */
  #takeString(): boolean {
    this.at++;
    for (;;) {
      const code = this.#text.charCodeAt(this.at);
      if (code === QUOTE) {
        this.at++;
        return true;
      }
      if (code === BACKSLASH) {
        if (!this.#take(ESCAPE)) return false;
      } else if (code >= 32) this.at++;
      // A control character, or NaN behind the end.
      else return false;
    }
  }
}

/** True when a valid JSON text nests objects and arrays deeper than `levels`. */
export function nestsDeeperThan(text: string, levels: number): boolean {
  // Each level takes an opening and a closing bracket.
  if (text.length <= levels * 2) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (code === 123 || code === 91) {
      if (++depth > levels) return true;
    } else if (code === 125 || code === 93) depth--;
  }
  return false;
}

/** Index of the quote that ends the string opened at `open`. */
function endOfString(text: string, open: number): number {
  let at = text.indexOf('"', open + 1);
  while (at !== -1) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return at;
    at = text.indexOf('"', at + 1);
  }
  return text.length;
}
