// The filter language of Logs and Traces: `level:error source:api,web -source:cron dur>200ms attr.http.status>=500
// name~check "free text" /time(out|d)/`. `:` means equals (`:*` means that the field exists), `~` means contains. A
// minus before a term negates it, `#` disables it.

export type FilterOp = "equals" | "contains" | "gt" | "gte" | "lt" | "lte" | "exists";

interface Term {
  readonly negated: boolean;
  /** Disabled: kept but without effect. */
  readonly off: boolean;
}
export interface FieldTerm extends Term {
  readonly kind: "field";
  readonly field: string;
  readonly op: FilterOp;
  /** Empty for `exists`. */
  readonly value: string;
}
export interface TextTerm extends Term {
  readonly kind: "text" | "regex";
  readonly text: string;
}
export type FilterTerm = FieldTerm | TextTerm;

export interface ParsedFilter {
  readonly terms: readonly FilterTerm[];
  /** Readable parse errors. `terms` has everything that could be parsed. */
  readonly problems: readonly string[];
}

const OPERATORS: readonly (readonly [string, FilterOp])[] = [
  [">=", "gte"],
  ["<=", "lte"],
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
  contains: "~",
  exists: ":",
};

/** Letters, digits and `_ . / -` in any script. Does not start with a digit, so that `12:30` is text. */
const FIELD = /^[\p{L}_][\p{L}\p{N}_./-]*/u;
const SPACE = /\s/;

/** Parses a filter. Never throws, because the user may still be typing. */
export function parseFilter(text: string): ParsedFilter {
  const terms: FilterTerm[] = [];
  const problems: string[] = [];
  let at = 0;
  while (at < text.length) {
    if (SPACE.test(text[at] as string)) {
      at++;
      continue;
    }
    const off = text[at] === "#" && isTermAt(text, at + 1);
    if (off) at++;
    const negated = text[at] === "-" && isTermAt(text, at + 1);
    if (negated) at++;
    const read = readTerm(text, at);
    at = read.end;
    if (read.problem !== undefined) problems.push(read.problem);
    if (read.term !== undefined) terms.push({ ...read.term, negated, off });
  }
  return { terms, problems };
}

function isTermAt(text: string, at: number): boolean {
  return at < text.length && !SPACE.test(text[at] as string);
}

type Bare = Omit<FieldTerm, keyof Term> | Omit<TextTerm, keyof Term>;
interface Read {
  readonly term: Bare | undefined;
  readonly end: number;
  readonly problem?: string;
}

function readTerm(text: string, at: number): Read {
  if (text[at] === '"') {
    const { value, end, closed } = readQuoted(text, at);
    return {
      term: value === "" ? undefined : { kind: "text", text: value },
      end,
      ...(closed ? {} : { problem: `the quotation mark before “${value}” is not closed` }),
    };
  }
  if (text[at] === "/") {
    const regex = readRegex(text, at);
    if (regex !== undefined) return regex;
  }
  const field = readField(text, at);
  if (field !== undefined) return field;
  const end = wordEnd(text, at);
  return { term: { kind: "text", text: text.slice(at, end) }, end };
}

/** Parses a field name followed by an operator. */
function readField(text: string, at: number): Read | undefined {
  const name = FIELD.exec(text.slice(at, at + 512))?.[0];
  if (name === undefined) return undefined;
  const rest = at + name.length;
  const operator = OPERATORS.find(([sign]) => text.startsWith(sign, rest));
  // `http://…` and `math::add` are text.
  if (operator === undefined || text.startsWith("://", rest) || text.startsWith("::", rest)) return undefined;
  const [sign, op] = operator;
  const from = rest + sign.length;
  if (from >= text.length || SPACE.test(text[from] as string))
    return { term: undefined, end: from, problem: `${name}${sign} needs a value` };
  if (text[from] === '"') {
    const { value, end, closed } = readQuoted(text, from);
    return {
      term: { kind: "field", field: name, op, value },
      end,
      ...(closed ? {} : { problem: `the quotation mark before “${value}” is not closed` }),
    };
  }
  const end = wordEnd(text, from);
  const value = text.slice(from, end);
  return {
    term:
      op === "equals" && value === "*"
        ? { kind: "field", field: name, op: "exists", value: "" }
        : { kind: "field", field: name, op, value },
    end,
  };
}

function readQuoted(
  text: string,
  at: number,
): { readonly value: string; readonly end: number; readonly closed: boolean } {
  let value = "";
  let index = at + 1;
  while (index < text.length && text[index] !== '"') {
    if (text[index] === "\\" && index + 1 < text.length) index++;
    value += text[index];
    index++;
  }
  return { value, end: Math.min(text.length, index + 1), closed: index < text.length };
}

/** Parses `/…/` followed by a space or the end. A path such as `/a/b` is text. */
function readRegex(text: string, at: number): Read | undefined {
  for (let index = at + 1; index < text.length; index++) {
    if (text[index] === "\\") index++;
    else if (text[index] === "/" && (index + 1 === text.length || SPACE.test(text[index + 1] as string))) {
      const source = text.slice(at + 1, index);
      // `/a/b/` is a path, unless the inner slashes are escaped.
      if (source === "" || /(?<!\\)\//.test(source)) return undefined;
      const problem = regexProblem(source);
      return problem === undefined
        ? { term: { kind: "regex", text: source }, end: index + 1 }
        : { term: undefined, end: index + 1, problem };
    }
  }
  return undefined;
}

function regexProblem(source: string): string | undefined {
  try {
    new RegExp(source, "i");
    return undefined;
  } catch (error) {
    return `/${source}/ is not a regular expression: ${(error as Error).message.replace(/^.*: /, "")}`;
  }
}

function wordEnd(text: string, at: number): number {
  let end = at;
  while (end < text.length && !SPACE.test(text[end] as string)) end++;
  return end;
}

/** Formats terms so that `parseFilter` returns the same terms. */
export function formatFilter(terms: readonly FilterTerm[]): string {
  return terms.map(formatTerm).join(" ");
}

export function formatTerm(term: FilterTerm): string {
  return `${term.off ? "#" : ""}${term.negated ? "-" : ""}${bareText(term)}`;
}

function bareText(term: FilterTerm): string {
  if (term.kind !== "field") {
    if (term.kind === "regex") return `/${term.text}/`;
    return isPlainWord(term.text) ? term.text : quoted(term.text);
  }
  const sign = SIGNS[term.op];
  if (term.op === "exists") return `${term.field}${sign}*`;
  return `${term.field}${sign}${term.value === "" || term.value === "*" || /[\s"]/.test(term.value) ? quoted(term.value) : term.value}`;
}

function isPlainWord(text: string): boolean {
  const { terms, problems } = parseFilter(text);
  const [only] = terms;
  return (
    problems.length === 0 &&
    terms.length === 1 &&
    only?.kind === "text" &&
    !only.negated &&
    !only.off &&
    only.text === text &&
    !text.startsWith('"')
  );
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}

/** Returns the enabled terms. */
export function activeTerms(terms: readonly FilterTerm[]): readonly FilterTerm[] {
  return terms.filter(({ off }) => !off);
}

const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
};

/**
 * Parses a duration such as `200ms`, `1.5s`, `455µs`, `2min`, `250` (milliseconds). Returns milliseconds, or undefined
 * if it is invalid.
 */
export function durationMs(text: string): number | undefined {
  const parts = /^(\d+(?:\.\d+)?)\s*(\p{L}*)$/u.exec(text.trim());
  if (parts === null) return undefined;
  const factor = UNITS[parts[2] === "" ? "ms" : (parts[2] as string).toLowerCase().replace("μ", "µ")];
  return factor === undefined ? undefined : Number(parts[1]) * factor;
}

/** A filter on an attribute, as the engine's functions expect it. */
export interface EngineFilter {
  readonly key: string;
  readonly op:
    | "equals"
    | "not_equals"
    | "contains"
    | "not_contains"
    | "gt"
    | "gte"
    | "lt"
    | "lte"
    | "exists"
    | "not_exists";
  readonly value?: string;
}

/**
 * Converts a term on `attr.NAME`, `resource.NAME` or a field with the given `key`. Returns undefined for a negated
 * comparison, which the engine does not support.
 */
export function engineFilterOf(term: FieldTerm, key = term.field.replace(/^attr\./, "")): EngineFilter | undefined {
  if (!term.negated) return term.op === "exists" ? { key, op: "exists" } : { key, op: term.op, value: term.value };
  if (term.op === "exists") return { key, op: "not_exists" };
  return term.op === "equals" || term.op === "contains" ? { key, op: `not_${term.op}`, value: term.value } : undefined;
}

/** Formats `k:op:v` for the address (`attr=`). Colons in the key are percent-encoded. */
export function attrParam(term: FieldTerm): string {
  const { key, op, value } = { value: "", ...(engineFilterOf(term) ?? { key: term.field, op: term.op }) };
  return `${key.replaceAll("%", "%25").replaceAll(":", "%3A")}:${op}:${value}`;
}

/** Parses the output of `attrParam`. Returns undefined for anything else. */
export function termOfAttrParam(param: string): FieldTerm | undefined {
  const parts = /^([^:]+):(not_)?(equals|contains|exists|gte?|lte?):?(.*)$/su.exec(param);
  if (parts === null) return undefined;
  const [, key = "", not, op = "equals", value = ""] = parts;
  const name = key.replaceAll("%3A", ":").replaceAll("%25", "%");
  return {
    kind: "field",
    field: name.startsWith("resource.") ? name : `attr.${name}`,
    op: op as FilterOp,
    value,
    negated: not !== undefined,
    off: false,
  };
}
