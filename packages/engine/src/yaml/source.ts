import { maskConfigText } from "@svc-runtime/protocol";
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  Pair,
  parseDocument,
  Scalar,
  type YAMLError,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { MAX_YAML_DEPTH, tooDeepAt } from "./depth.ts";
import type { FileProblem } from "./problem.ts";
import { readPlainScalar, substitute, type VariableLookup } from "./variables.ts";

/** Keys and list indexes from the top of the file to a value. */
export type KeyPath = readonly (string | number)[];

export interface Position {
  /** Line and column are counted from 1. */
  readonly line: number;
  readonly column: number;
}

/** A parsed YAML text. Provides the position of each value in the text. */
export interface YamlSource {
  /** Value with variables replaced. Undefined for an empty text. Maps never have the key `__proto__`. */
  readonly value: unknown;
  /** Returns the position of the value at `path`, or of its nearest existing parent. */
  positionOf(path: KeyPath): Position | undefined;
  /** Returns the position of the last key of `path`, not of its value. */
  positionOfKey(path: KeyPath): Position | undefined;
  /**
   * Returns the text of an unquoted scalar after variables are replaced, e.g. `1.10` for the value 1.1. Returns
   * undefined for other values.
   */
  writtenTextOf(path: KeyPath): string | undefined;
  /**
   * Returns the text before variables are replaced, if it contains variables. The text is safe to show, because it
   * contains no values of environment variables.
   */
  templateOf(path: KeyPath): string | undefined;
}

/** Returns e.g. `workers[2].config.port`. Keys with special characters are quoted. */
export function formatKey(path: KeyPath): string | undefined {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else if (/^[A-Za-z_][\w-]*$/.test(part)) text += text === "" ? part : `.${part}`;
    else text += `[${JSON.stringify(maskConfigText(part))}]`;
  }
  return text === "" ? undefined : text;
}

/** Maximum number of values in a file. If an alias repeats values, they are counted each time. */
const MAX_VALUES = 100_000;
const MAX_SYNTAX_PROBLEMS = 5;

/** Result of parsing. `source` is undefined if the text is not valid YAML. */
export interface YamlReading {
  readonly source: YamlSource | undefined;
  readonly problems: readonly FileProblem[];
}

/** Parses one YAML 1.2 document. Replaces variables if there is a `lookup`. Never throws. */
export function readYaml(text: string, lookup?: VariableLookup): YamlReading {
  const lineCounter = new LineCounter();
  const deepAt = tooDeepAt(text);
  if (deepAt !== undefined) {
    return {
      source: undefined,
      problems: [
        {
          ...positionInText(text, deepAt),
          key: undefined,
          message: `lists and maps are nested deeper than ${MAX_YAML_DEPTH} levels`,
        },
      ],
    };
  }
  // `uniqueKeys` is off because the parser's check takes quadratic time. The reader finds duplicate keys.
  const document = parseDocument(text, {
    lineCounter,
    stringKeys: true,
    uniqueKeys: false,
    prettyErrors: false,
    schema: "core",
    keepSourceTokens: false,
  });
  const variables = lookup === undefined ? BRACES_HINT : VARIABLE_HINT;
  const syntax = syntaxProblems(text, [...document.errors, ...document.warnings], { lineCounter, variables });
  if (syntax.length === 0 && document.directives.yaml.version === "1.1") syntax.push(olderVersion(text));
  if (syntax.length > 0) return { source: undefined, problems: syntax };
  const reader = new Reader(lineCounter, lookup);
  const value = document.contents === null ? undefined : reader.read(document.contents, [], 0);
  return { source: sourceOf(document, reader, value), problems: reader.problems };
}

/** Converts nodes to plain values. Must be used for one document only. */
class Reader {
  readonly problems: FileProblem[] = [];
  readonly targets = new Map<Alias, Node>();
  readonly templates = new Map<Scalar, string>();
  readonly #lineCounter: LineCounter;
  readonly #lookup: VariableLookup | undefined;
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  /**
   * Values of scalars that are already read. Variables in a scalar with several aliases must be replaced only once, so
   * that the replaced text is not searched for variables again.
   */
  readonly #scalars = new Map<Scalar, unknown>();
  #values = 0;

  constructor(lineCounter: LineCounter, lookup: VariableLookup | undefined) {
    this.#lineCounter = lineCounter;
    this.#lookup = lookup;
  }

  position(node: Node): Position | undefined {
    if (!node.range) return undefined;
    const { line, col } = this.#lineCounter.linePos(node.range[0]);
    return { line, column: col };
  }

  read(node: Node, path: KeyPath, depth: number): unknown {
    this.#values += 1;
    if (this.#values === MAX_VALUES)
      this.#refuse(node, path, `the file holds more than ${MAX_VALUES} values, those repeated by aliases included`);
    if (this.#values >= MAX_VALUES) return undefined;
    if (depth > MAX_YAML_DEPTH) return this.#refuse(node, path, `aliases nest deeper than ${MAX_YAML_DEPTH} levels`);
    if (isAlias(node)) return this.#readAlias(node, path, depth);
    if (node.anchor) this.#anchors.set(node.anchor, node);
    if (isScalar(node)) return this.#readScalar(node, path);
    this.#open.add(node);
    const value = isMap(node)
      ? this.#readMap(node, path, depth)
      : isSeq(node)
        ? this.#readList(node, path, depth)
        : undefined;
    this.#open.delete(node);
    return value;
  }

  #readAlias(alias: Alias, path: KeyPath, depth: number): unknown {
    const target = this.targets.get(alias) ?? this.#anchors.get(alias.source);
    if (target === undefined)
      return this.#refuse(
        alias,
        path,
        `the alias *${alias.source} names no anchor; write &${alias.source} before the value that it repeats`,
      );
    if (this.#open.has(target))
      return this.#refuse(alias, path, `the alias *${alias.source} repeats a value that contains it`);
    this.targets.set(alias, target);
    return this.read(target, path, depth + 1);
  }

  #readScalar(scalar: Scalar, path: KeyPath): unknown {
    if (!this.#scalars.has(scalar)) this.#scalars.set(scalar, this.#replaceVariables(scalar, path));
    return this.#scalars.get(scalar);
  }

  #replaceVariables(scalar: Scalar, path: KeyPath): unknown {
    const { value } = scalar;
    if (value === null || typeof value === "number" || typeof value === "boolean") return value;
    if (typeof value !== "string") return this.#refuse(scalar, path, "must be text, a number, true, false or null");
    if (this.#lookup === undefined) return value;
    const substitution = substitute(value, this.#lookup);
    if (substitution.kind === "none") return value;
    this.templates.set(scalar, value);
    if (substitution.kind === "refused") return this.#refuse(scalar, path, substitution.message);
    const isPlain = scalar.type === Scalar.PLAIN && scalar.tag === undefined;
    // Needed by `writtenTextOf`, which must return the text with variables replaced.
    scalar.source = substitution.text;
    return isPlain && substitution.whole ? readPlainScalar(substitution.text) : substitution.text;
  }

  #readList(list: YAMLSeq, path: KeyPath, depth: number): unknown[] {
    return list.items.map((item, index) => (isNode(item) ? this.read(item, [...path, index], depth + 1) : null));
  }

  #readMap(map: YAMLMap, path: KeyPath, depth: number): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    for (const { key: keyNode, value } of map.items) {
      if (!isScalar(keyNode)) continue;
      const key = String(keyNode.value);
      const keyPath = [...path, key];
      if (keyNode.anchor) this.#anchors.set(keyNode.anchor, keyNode);
      if (key === "__proto__") this.#refuse(keyNode, keyPath, "__proto__ cannot be a key");
      else if (Object.hasOwn(result, key))
        this.#refuse(keyNode, keyPath, `the key ${JSON.stringify(key)} stands twice in the same block; keep one`);
      else result[key] = isNode(value) ? this.read(value, keyPath, depth + 1) : null;
    }
    return result;
  }

  #refuse(node: Node, path: KeyPath, message: string): undefined {
    const position = this.position(node);
    this.problems.push({ line: position?.line, column: position?.column, key: formatKey(path), message });
    return undefined;
  }
}

function isNode(value: unknown): value is Node {
  return isScalar(value) || isMap(value) || isSeq(value) || isAlias(value);
}

interface Found {
  /** The deepest existing node on the path. */
  readonly node: Node;
  /** The node's key, if it is in a map. */
  readonly key: Node | undefined;
  /** False if the path does not exist completely. */
  readonly complete: boolean;
}

function sourceOf(document: Document.Parsed, reader: Reader, value: unknown): YamlSource {
  const scalarAt = (path: KeyPath): Scalar | undefined => {
    const found = find(document, reader, path);
    const node = found?.complete ? followed(found.node, reader) : undefined;
    return isScalar(node) ? node : undefined;
  };
  return {
    value,
    positionOf(path) {
      const found = find(document, reader, path);
      if (found === undefined) return undefined;
      // A key without a value has an empty node, which may be on a later line. So return the position of the key.
      const isEmpty = isScalar(found.node) && found.node.range?.[0] === found.node.range?.[1];
      return reader.position(isEmpty && found.key ? found.key : found.node);
    },
    positionOfKey(path) {
      const found = find(document, reader, path);
      return found && reader.position(found.complete && found.key ? found.key : found.node);
    },
    writtenTextOf(path) {
      const scalar = scalarAt(path);
      return scalar?.type === Scalar.PLAIN ? scalar.source : undefined;
    },
    templateOf(path) {
      const scalar = scalarAt(path);
      return scalar && reader.templates.get(scalar);
    },
  };
}

function find(document: Document.Parsed, reader: Reader, path: KeyPath): Found | undefined {
  if (document.contents === null) return undefined;
  let found: Found = { node: document.contents, key: undefined, complete: path.length === 0 };
  for (const [index, part] of path.entries()) {
    const next = child(followed(found.node, reader), part);
    if (next === undefined) return { ...found, complete: false };
    found = { ...next, complete: index === path.length - 1 };
  }
  return found;
}

function child(node: Node, part: string | number): Omit<Found, "complete"> | undefined {
  if (isSeq(node) && typeof part === "number") {
    const item = node.items[part];
    return isNode(item) ? { node: item, key: undefined } : undefined;
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === part);
  if (!(pair instanceof Pair) || !isScalar(pair.key)) return undefined;
  return { node: isNode(pair.value) ? pair.value : pair.key, key: pair.key };
}

function followed(node: Node, reader: Reader): Node {
  let target = node;
  while (isAlias(target)) {
    const next = reader.targets.get(target);
    if (next === undefined) return target;
    target = next;
  }
  return target;
}

/** Rejects YAML 1.1, which reads the same text differently: `on` is true and 010 is 8. */
function olderVersion(text: string): FileProblem {
  const position = positionInText(text, text.search(/^%YAML/m));
  return { ...position, key: undefined, message: "this file is read as YAML 1.2; remove the line `%YAML 1.1`" };
}

interface SyntaxContext {
  readonly lineCounter: LineCounter;
  /** Hint that is added to a problem if its line contains `${`. */
  readonly variables: string;
}

function syntaxProblems(
  text: string,
  errors: readonly YAMLError[],
  { lineCounter, variables }: SyntaxContext,
): FileProblem[] {
  const byLine = new Map<number, FileProblem>();
  for (const error of errors) {
    // After a first error the parser reports every following token as unexpected. These reports are skipped.
    if (error.code === "UNEXPECTED_TOKEN" && byLine.size > 0) continue;
    const { line, col } = lineCounter.linePos(error.pos[0]);
    if (byLine.has(line)) continue;
    byLine.set(line, {
      line,
      column: col,
      key: undefined,
      message: `${inPlainWords(error)}${lineOf(text, error.pos[0]).includes("${") ? variables : ""}`,
    });
    if (byLine.size === MAX_SYNTAX_PROBLEMS) break;
  }
  return [...byLine.values()];
}

const PLAIN_WORDS: Partial<Record<YAMLError["code"], string>> = {
  ALIAS_PROPS: "an alias (*name) cannot have an anchor or a tag",
  BAD_ALIAS: "an alias (*name) or anchor (&name) has no proper name",
  BAD_COLLECTION_TYPE: "the tag (!name) does not fit the value behind it",
  BAD_DIRECTIVE: "a line that begins with % is a YAML directive; this one is not known",
  BAD_DQ_ESCAPE: "a backslash sequence inside \"…\" is not known; write \\\\ for a backslash, or use '…'",
  BAD_INDENT: "the indentation does not fit the lines around it; keys of one block begin in the same column",
  BAD_SCALAR_START: "a text cannot begin with this character; put it in quotes",
  BLOCK_AS_IMPLICIT_KEY:
    "a second `key:` stands on the same line; begin a new, deeper indented line, or put the text in quotes",
  BLOCK_IN_FLOW: "an indented block cannot stand inside […] or {…}",
  DUPLICATE_KEY: "a key stands twice in the same block; keep one",
  KEY_OVER_1024_CHARS: "a key is longer than 1,024 characters",
  MULTILINE_IMPLICIT_KEY: "a line is neither `key: value` nor the rest of a text; is a `:` missing, or a quote?",
  MULTIPLE_ANCHORS: "a value has two anchors (&name); keep one",
  MULTIPLE_DOCS: "a second document begins here (---); the file holds one",
  MULTIPLE_TAGS: "a value has two tags (!name); keep one",
  NON_STRING_KEY: "a key must be plain text, no list, map, tag or alias",
  TAB_AS_INDENT: "a tab is used for indentation; use spaces",
  TAG_RESOLVE_FAILED: "the tag (!name) is not known; remove it",
  UNEXPECTED_TOKEN: "this does not belong here; check the indentation and the quotes of this line and of the one above",
};

/** Messages by the parser's message, for error codes that have several meanings. */
const PLAIN_WORDS_OF_MESSAGES: readonly (readonly [RegExp, string])[] = [
  [
    /^Flow (?:map|sequence) in block collection must/,
    "a `{` or `[` above is never closed, or a line inside it is not indented deeper than its key",
  ],
  [/^Flow (?:map|sequence) must/, "a `{` or `[` above is never closed"],
  [/^Sequence item without/, "a list entry does not begin with `- `, or its keys do not stand in the same column"],
  [/^Implicit map keys need/, "a `:` is missing behind this key"],
  [/^Missing closing/, "a quote is opened and never closed"],
  [/^Comments must be separated/, "a comment needs a space before its #"],
];

/** Hint for files in which variables are not replaced. */
const BRACES_HINT = `. A \${…} inside […] or {…} needs quotes`;
const VARIABLE_HINT = `. A \${…} inside […] or {…}, or with a space behind its \`:\`, needs quotes ("\${NAME:default}"), which make it text; for a number write it unquoted on a line of its own`;

function inPlainWords(error: YAMLError): string {
  const known =
    PLAIN_WORDS_OF_MESSAGES.find(([pattern]) => pattern.test(error.message))?.[1] ?? PLAIN_WORDS[error.code];
  return known ?? `not valid YAML: ${error.message.charAt(0).toLowerCase()}${error.message.slice(1)}`;
}

function lineOf(text: string, offset: number): string {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  const end = text.indexOf("\n", offset);
  return text.slice(start, end === -1 ? undefined : end);
}

function positionInText(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}
