import { MASK, maskConfig, maskConfigText } from "@svc/protocol";
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from "yaml";
import type { z } from "zod";
import { MAX_YAML_DEPTH, tooDeepAt } from "../config/yaml-depth.ts";
import { didYouMean, nearestName } from "../kernel/nearest-name.ts";
import { ManifestError, type ManifestProblem } from "./manifest-error.ts";
import { expectationAt, keysAt } from "./manifest-schema.ts";

/** The parsed YAML with the lines of its keys. */
export class PositionedYaml {
  readonly #document: Document.Parsed;
  readonly #lines: LineCounter;
  readonly #file: string;
  readonly value: unknown;

  constructor(source: { readonly file: string; readonly text: string }) {
    this.#file = source.file;
    this.#lines = new LineCounter();
    // The parser recurses for each level, and takes seconds to give up.
    const deepAt = tooDeepAt(source.text);
    if (deepAt !== undefined) {
      const line = source.text.slice(0, deepAt).split("\n").length;
      throw new ManifestError(source.file, [{ line, key: undefined, message: `lists and maps are nested deeper than ${MAX_YAML_DEPTH} levels` }]);
    }
    this.#document = parseDocument(source.text, { lineCounter: this.#lines, prettyErrors: false });
    if (this.#document.errors.length > 0) {
      throw new ManifestError(
        source.file,
        this.#document.errors.map((error) => ({
          line: this.#lines.linePos(error.pos[0]).line,
          key: undefined,
          message: `this is not valid YAML: ${error.message}`,
        })),
      );
    }
    try {
      this.value = this.#document.toJS();
    } catch (error) {
      throw new ManifestError(source.file, [{ line: undefined, key: undefined, message: `this is not valid YAML: ${(error as Error).message}` }]);
    }
  }

  problem(path: readonly PropertyKey[], message: string): ManifestProblem {
    return { line: this.#lineOf(path), key: path.length === 0 ? undefined : path.join("."), message };
  }

  fail(path: readonly PropertyKey[], message: string): never {
    throw new ManifestError(this.#file, [this.problem(path, message)]);
  }

  parse<Output>(shape: z.ZodType<Output>): Output {
    const result = shape.safeParse(this.value);
    if (result.success) return result.data;
    throw new ManifestError(
      this.#file,
      result.error.issues.flatMap((issue) => this.#explain(issue)),
    );
  }

  #explain(issue: z.core.$ZodIssue): readonly ManifestProblem[] {
    if (issue.code === "unrecognized_keys") return issue.keys.map((key) => this.#unknownKey(issue.path, key));
    // Inside a union the inner issue that lies deepest is the one the author meant.
    if (issue.code === "invalid_union") {
      const unknown = issue.errors.flat().find((inner) => inner.code === "unrecognized_keys");
      if (unknown !== undefined) return this.#explain({ ...unknown, path: [...issue.path, ...unknown.path] });
    }
    const value = valueAt(maskConfig(this.value), issue.path);
    const found = describe(value);
    const expectation = expectationAt(issue.path);
    if (found === undefined) return [this.problem(issue.path, `this key is missing; expected ${expectation}`)];
    const hint = issue.code === "invalid_value" && typeof value === "string" ? didYouMean(value, issue.values.map(String)) : "";
    return [this.problem(issue.path, `${found} does not fit; expected ${expectation}${hint}`)];
  }

  #unknownKey(parent: readonly PropertyKey[], key: string): ManifestProblem {
    const path = [...parent, key];
    const known = keysAt(parent);
    const near = key === "language" ? "kind" : nearestName(key, known);
    const hint =
      near === undefined
        ? `expected ${known.length === 0 ? "no keys" : `one of ${known.map((name) => `\`${name}\``).join(", ")}`}`
        : `did you mean \`${near}\`?`;
    return { line: this.#lineOf(path), key: undefined, message: `unknown key \`${maskConfigText(path.join("."))}\`; ${hint}` };
  }

  /** Line of the key, or of the nearest thing around it that stands in the file. */
  #lineOf(path: readonly PropertyKey[]): number | undefined {
    for (let length = path.length; length > 0; length--) {
      const parent: unknown = length === 1 ? this.#document.contents : this.#document.getIn(path.slice(0, length - 1), true);
      const name = path[length - 1];
      if (isMap(parent)) {
        const pair = parent.items.find((item) => isScalar(item.key) && item.key.value === name);
        if (isNode(pair?.key) && pair.key.range) return this.#lines.linePos(pair.key.range[0]).line;
      } else {
        const node: unknown = this.#document.getIn(path.slice(0, length), true);
        if (isNode(node) && node.range) return this.#lines.linePos(node.range[0]).line;
      }
    }
    return path.length === 0 ? undefined : 1;
  }
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const key of path) {
    if (current === MASK) return MASK;
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as Record<PropertyKey, unknown>)[key];
  }
  return current;
}

function describe(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (value === null) return "an empty value";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a map";
  const text = typeof value === "string" ? value : String(value);
  return text === "" ? "an empty text" : `\`${text.length > 60 ? `${text.slice(0, 60)}…` : text}\``;
}
