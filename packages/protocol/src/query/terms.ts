// The query language of traces and log entries. Guide: docs/guide/queries.md.

export type FilterOp = "equals" | "contains" | "like" | "gt" | "gte" | "lt" | "lte" | "exists";

interface Common {
  readonly negated: boolean;
  /** Disabled: kept but without effect. */
  readonly off: boolean;
  /** Position in the text, counted from 0. Undefined for terms that were not parsed. */
  readonly at?: number;
}
export interface FieldTerm extends Common {
  readonly kind: "field";
  readonly field: string;
  readonly op: FilterOp;
  /** Empty for `exists`. */
  readonly value: string;
}
export interface TextTerm extends Common {
  readonly kind: "text" | "regex";
  readonly text: string;
}
/** The word `error`: traces with a failed span, entries of level ERROR and above. */
export interface ErrorTerm extends Common {
  readonly kind: "error";
}
/** Matches if all terms of one of the alternatives match. */
export interface GroupTerm extends Common {
  readonly kind: "group";
  readonly any: readonly (readonly FilterTerm[])[];
}
export type FilterTerm = FieldTerm | TextTerm | ErrorTerm | GroupTerm;

export interface QueryProblem {
  /** Position in the text, counted from 0. */
  readonly at: number;
  readonly message: string;
}

export interface ParsedFilter {
  /** All of them must match. */
  readonly terms: readonly FilterTerm[];
  /** What could not be parsed. `terms` has the rest. */
  readonly problems: readonly QueryProblem[];
}

/** Maximum nesting of parentheses. */
const MAX_DEPTH = 16;

const OPERATORS: readonly (readonly [string, FilterOp])[] = [
  [">=", "gte"],
  ["<=", "lte"],
  ["!=", "equals"],
  [">", "gt"],
  ["<", "lt"],
  [":", "equals"],
  ["=", "equals"],
  ["~", "contains"],
];
const SIGNS: Readonly<Record<FilterOp, string>> = {
  gte: ">=",
  lte: "<=",
  gt: ">",
  lt: "<",
  equals: ":",
  like: ":",
  contains: "~",
  exists: ":",
};

/** Letters, digits and `_ . / -` in any script. Does not start with a digit, so that `12:30` is text. */
const FIELD = /^[\p{L}_][\p{L}\p{N}_./-]*/u;
const SPACE = /\s/;
const KEYWORD = /^(?:and|or|not)(?=[\s()]|$)/i;

/** Parses a query. Never throws, because the user may still be typing. */
export function parseFilter(text: string): ParsedFilter {
  const parser = new Parser(text);
  const terms = parser.terms();
  return { terms, problems: parser.problems };
}

/** Returns the problem with its position, counted from 1. */
export function problemText({ at, message }: QueryProblem): string {
  return `${message} (at character ${at + 1})`;
}

type Bare =
  | Omit<FieldTerm, keyof Common>
  | Omit<TextTerm, keyof Common>
  | Omit<ErrorTerm, keyof Common>
  | Omit<GroupTerm, keyof Common>;

class Parser {
  readonly problems: QueryProblem[] = [];
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Reads up to the end, or up to the parenthesis that closes this group. */
  terms(): readonly FilterTerm[] {
    const start = this.#at;
    const any: FilterTerm[][] = [[]];
    let operator: { readonly word: string; readonly at: number } | undefined;
    for (this.#skipSpace(); !this.#isAtEnd(); this.#skipSpace()) {
      const at = this.#at;
      const word = this.#keyword(["and", "or"]);
      if (word === undefined) {
        const term = this.#term();
        if (term !== undefined) any.at(-1)?.push(term);
        operator = undefined;
        continue;
      }
      if (operator !== undefined || any.at(-1)?.length === 0) this.#expected(at, `a filter before "${word}"`);
      else if (word === "or") any.push([]);
      operator = { word, at };
    }
    if (operator !== undefined) this.#expected(this.#at, `a filter after "${operator.word}"`);
    const alternatives = any.filter((terms) => terms.length > 0);
    if (alternatives.length < 2) return alternatives[0] ?? [];
    return [{ kind: "group", any: alternatives, negated: false, off: false, at: start }];
  }

  #expected(at: number, what: string): void {
    this.problems.push({ at, message: `expected ${what}` });
  }

  #isAtEnd(): boolean {
    return this.#at >= this.#text.length || (this.#depth > 0 && this.#text[this.#at] === ")");
  }

  #skipSpace(): void {
    while (this.#at < this.#text.length && SPACE.test(this.#text[this.#at] as string)) this.#at += 1;
  }

  /** Reads one of the keywords, in any case. */
  #keyword(words: readonly string[]): string | undefined {
    const word = KEYWORD.exec(this.#text.slice(this.#at, this.#at + 4))?.[0];
    if (word === undefined || !words.includes(word.toLowerCase())) return undefined;
    this.#at += word.length;
    return word.toLowerCase();
  }

  #term(): FilterTerm | undefined {
    const at = this.#at;
    const off = this.#prefix("#");
    let negated = this.#prefix("-");
    while (this.#keyword(["not"]) !== undefined) {
      this.#skipSpace();
      if (this.#isAtEnd()) {
        this.#expected(this.#at, 'a filter after "not"');
        return undefined;
      }
      negated = !negated;
      if (this.#prefix("-")) negated = !negated;
    }
    const read = this.#bare();
    if (read === undefined) return undefined;
    return { ...read.term, negated: negated !== (read.negated ?? false), off, at };
  }

  /** Reads a sign if a term follows directly. */
  #prefix(sign: string): boolean {
    const next = this.#text[this.#at + 1];
    if (this.#text[this.#at] !== sign || next === undefined || SPACE.test(next)) return false;
    this.#at += 1;
    return true;
  }

  #bare(): { readonly term: Bare; readonly negated?: boolean } | undefined {
    const at = this.#at;
    if (this.#text[at] === "(") return this.#group();
    if (this.#text[at] === '"') {
      const value = this.#quoted();
      return value === "" ? undefined : { term: { kind: "text", text: value } };
    }
    if (this.#text[at] === "/") {
      const regex = this.#regex();
      if (regex !== undefined) return regex === null ? undefined : { term: regex };
    }
    const field = this.#field();
    if (field !== undefined) return field === null ? undefined : field;
    this.#at = this.#wordEnd(at);
    const word = this.#text.slice(at, this.#at);
    return { term: word === "error" ? { kind: "error" } : { kind: "text", text: word } };
  }

  #group(): { readonly term: Bare } | undefined {
    const at = this.#at;
    if (this.#depth >= MAX_DEPTH) {
      this.problems.push({ at, message: `more than ${MAX_DEPTH} nested parentheses` });
      this.#at = this.#text.length;
      return undefined;
    }
    this.#at += 1;
    this.#depth += 1;
    const terms = this.terms();
    this.#depth -= 1;
    if (this.#text[this.#at] === ")") this.#at += 1;
    else this.#expected(this.#text.length, 'a closing parenthesis ")"');
    if (terms.length === 0) {
      this.#expected(at + 1, 'a filter after "("');
      return undefined;
    }
    const [only] = terms;
    // `terms` returns alternatives as one group.
    const isGroup = terms.length === 1 && only?.kind === "group" && !only.negated && !only.off;
    return { term: { kind: "group", any: isGroup ? only.any : [terms] } };
  }

  /** Reads a field with an operator. Returns undefined for anything else, and null for a field without a value. */
  #field(): { readonly term: Bare; readonly negated?: boolean } | null | undefined {
    const at = this.#at;
    const field = FIELD.exec(this.#text.slice(at, at + 512))?.[0];
    if (field === undefined) return undefined;
    const rest = at + field.length;
    const operator = OPERATORS.find(([sign]) => this.#text.startsWith(sign, rest));
    // `http://…` and `math::add` are text.
    if (operator === undefined || this.#text.startsWith("://", rest) || this.#text.startsWith("::", rest))
      return undefined;
    const [sign, op] = operator;
    const negated = sign === "!=";
    this.#at = rest + sign.length;
    if (this.#text[this.#at] === '"') return { term: { kind: "field", field, op, value: this.#quoted() }, negated };
    const from = this.#at;
    this.#at = this.#wordEnd(from);
    const value = this.#text.slice(from, this.#at);
    if (value === "") {
      this.#expected(from, `a value after "${field}${sign}"`);
      return null;
    }
    if (op !== "equals" || !value.includes("*")) return { term: { kind: "field", field, op, value }, negated };
    return value === "*"
      ? { term: { kind: "field", field, op: "exists", value: "" }, negated }
      : { term: { kind: "field", field, op: "like", value }, negated };
  }

  #quoted(): string {
    const start = this.#at;
    let value = "";
    this.#at += 1;
    while (this.#at < this.#text.length && this.#text[this.#at] !== '"') {
      if (this.#text[this.#at] === "\\" && this.#at + 1 < this.#text.length) this.#at += 1;
      value += this.#text[this.#at];
      this.#at += 1;
    }
    if (this.#at >= this.#text.length)
      this.#expected(this.#text.length, `a closing quotation mark for the one at character ${start + 1}`);
    this.#at = Math.min(this.#text.length, this.#at + 1);
    return value;
  }

  /**
   * Reads `/…/` followed by a space, a closing parenthesis or the end. Returns undefined for a path such as `/a/b`, and
   * null for an invalid expression.
   */
  #regex(): Bare | null | undefined {
    const at = this.#at;
    for (let index = at + 1; index < this.#text.length; index++) {
      if (this.#text[index] === "\\") index++;
      else if (this.#text[index] === "/" && this.#isTermEnd(index + 1)) {
        const source = this.#text.slice(at + 1, index);
        // `/a/b/` is a path, unless the inner slashes are escaped.
        if (source === "" || /(?<!\\)\//.test(source)) return undefined;
        this.#at = index + 1;
        const problem = regexProblem(source);
        if (problem === undefined) return { kind: "regex", text: source };
        this.problems.push({ at, message: problem });
        return null;
      }
    }
    return undefined;
  }

  #isTermEnd(at: number): boolean {
    const next = this.#text[at];
    return next === undefined || SPACE.test(next) || (this.#depth > 0 && next === ")");
  }

  /** A word ends at a space, and in a group at the parenthesis that closes it. */
  #wordEnd(from: number): number {
    let open = 0;
    let end = from;
    for (; end < this.#text.length; end++) {
      const character = this.#text[end] as string;
      if (SPACE.test(character)) break;
      if (character === "(") open += 1;
      else if (character === ")") {
        if (this.#depth > 0 && open === 0) break;
        open -= 1;
      }
    }
    return end;
  }
}

function regexProblem(source: string): string | undefined {
  try {
    new RegExp(source, "i");
    return undefined;
  } catch (error) {
    return `/${source}/ is not a regular expression: ${(error as Error).message.replace(/^.*: /, "")}`;
  }
}

/** Formats terms so that `parseFilter` returns the same terms. */
export function formatFilter(terms: readonly FilterTerm[]): string {
  return terms.map(formatTerm).join(" ");
}

export function formatTerm(term: FilterTerm): string {
  return `${term.off ? "#" : ""}${term.negated ? "-" : ""}${bareText(term)}`;
}

function bareText(term: FilterTerm): string {
  switch (term.kind) {
    case "error":
      return "error";
    case "group":
      return `(${term.any.map(formatFilter).join(" or ")})`;
    case "regex":
      return `/${term.text}/`;
    case "text":
      return isPlainWord(term.text) ? term.text : quoted(term.text);
    case "field":
      return `${term.field}${SIGNS[term.op]}${term.op === "exists" ? "*" : valueText(term)}`;
  }
}

function valueText({ op, value }: FieldTerm): string {
  // No quotation marks, because a pattern in quotation marks would be read as a literal value.
  if (op === "like") return value;
  const isPlain = value !== "" && !/[\s"()]/.test(value) && (op !== "equals" || !value.includes("*"));
  return isPlain ? value : quoted(value);
}

function isPlainWord(text: string): boolean {
  if (KEYWORD.test(text) || /[()"]/.test(text)) return false;
  const { terms, problems } = parseFilter(text);
  const [only] = terms;
  return (
    problems.length === 0 &&
    terms.length === 1 &&
    only?.kind === "text" &&
    !only.negated &&
    !only.off &&
    only.text === text
  );
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}

/** Returns the enabled terms. */
export function activeTerms(terms: readonly FilterTerm[]): readonly FilterTerm[] {
  return terms.flatMap((term): readonly FilterTerm[] => {
    if (term.off) return [];
    if (term.kind !== "group") return [term];
    const any = term.any.map(activeTerms);
    // An alternative without active terms would match everything, so the group would have no effect.
    return any.some((terms) => terms.length === 0) ? [] : [{ ...term, any }];
  });
}
