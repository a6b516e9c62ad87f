/** Where a text stops being JSON, and what would have been right there. */
export interface JsonProblem {
  /** 0-based offset in UTF-16 units. Equal to the length when the text ends too early. */
  readonly position: number;
  readonly expected: string;
}

const blank = /[ \t\n\r]*/y;
const numberToken = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON strings may not hold them
const stringToken = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const word = /true|false|null/y;

/**
 * Finds the first place where `text` is not JSON. Node's own message carries no position for most mistakes.
 * Undefined when the text is JSON.
 */
export function findJsonProblem(text: string): JsonProblem | undefined {
  return new Scanner(text).scan();
}

class Scanner {
  readonly #text: string;
  #at = 0;
  /** What each open bracket waits for; a list of its own, so that depth costs no stack. */
  readonly #open: ("}" | "]")[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  scan(): JsonProblem | undefined {
    for (;;) {
      const opened = this.#valueOrOpening();
      if (typeof opened === "object") return opened;
      if (opened === "opened") continue;
      const after = this.#afterValue();
      if (after !== "next value") return after;
    }
  }

  /** Takes a whole value, or the beginning of an object or list that is not empty. */
  #valueOrOpening(): "value" | "opened" | JsonProblem {
    if (this.#take("{")) return this.#take("}") ? "value" : (this.#key('a key in double quotes, or "}"') ?? this.#opened("}"));
    if (this.#take("[")) return this.#take("]") ? "value" : this.#opened("]");
    if (this.#skip(stringToken) || this.#skip(numberToken) || this.#skip(word)) return "value";
    return this.#problem(this.#text[this.#at] === '"' ? "a string that is closed and well escaped" : "a JSON value");
  }

  #opened(bracket: "}" | "]"): "opened" {
    this.#open.push(bracket);
    return "opened";
  }

  /** Closes what ends with the value, up to where the next one begins. Undefined at the end of a text that is right. */
  #afterValue(): "next value" | JsonProblem | undefined {
    for (let bracket = this.#open.at(-1); bracket !== undefined; bracket = this.#open.at(-1)) {
      if (this.#take(bracket)) {
        this.#open.pop();
        continue;
      }
      if (!this.#take(",")) return this.#problem(`"," or "${bracket}"`);
      return (bracket === "}" ? this.#key("a key in double quotes") : undefined) ?? "next value";
    }
    this.#skip(blank);
    return this.#at === this.#text.length ? undefined : this.#problem("nothing more");
  }

  #key(expected: string): JsonProblem | undefined {
    this.#skip(blank);
    if (!this.#skip(stringToken)) return this.#problem(expected);
    return this.#take(":") ? undefined : this.#problem('":" after the key');
  }

  #take(char: string): boolean {
    this.#skip(blank);
    if (this.#text[this.#at] !== char) return false;
    this.#at += 1;
    return true;
  }

  #skip(token: RegExp): boolean {
    token.lastIndex = this.#at;
    if (!token.test(this.#text)) return false;
    this.#at = token.lastIndex;
    return true;
  }

  #problem(expected: string): JsonProblem {
    return { position: this.#at, expected };
  }
}
