import type { TopicPattern } from "./topic-pattern.ts";
import { segmentOf, separatorOf, tokensOf } from "./topic-tokens.ts";

/** A node in the tree of patterns, reached by the tokens matched so far. */
interface Node<Value> {
  /** Children for a literal segment, by token (the segment with the separator before it). */
  readonly literal: Map<string, Node<Value>>;
  /** Children for a `*`, by the separator before the `*`. */
  readonly one: Map<string, Node<Value>>;
  /** Children for a `**`, by the separator before the `**`. */
  readonly many: Map<string, Node<Value>>;
  readonly ends: Set<Value>;
  /** For a node after a `**`: the separator that must be before the first segment that the `**` matches. */
  readonly firstSeparator: string | undefined;
}

/**
 * Reached nodes. The value is true if the `**` before the node has matched a segment. It can then match any further
 * segment, with any separator.
 */
type Reached<Value> = Map<Node<Value>, boolean>;

/**
 * Finds the values whose pattern matches a topic. The time of a lookup depends on the number of the topic's segments
 * and of the matching wildcards, not on the number of values.
 */
export class TopicIndex<Value> {
  readonly #exact = new Map<string, Set<Value>>();
  readonly #root = newNode<Value>();
  #withWildcards = 0;

  add(pattern: TopicPattern, value: Value): void {
    if (pattern.wildcards === undefined) {
      const beside = this.#exact.get(pattern.text) ?? new Set();
      this.#exact.set(pattern.text, beside.add(value));
      return;
    }
    this.#withWildcards++;
    for (const tokens of pattern.wildcards) {
      let node = this.#root;
      for (const token of tokens) node = childFor(node, token);
      node.ends.add(value);
    }
  }

  /** Removes a value that was added with this pattern. Other values are not affected. */
  remove(pattern: TopicPattern, value: Value): void {
    if (pattern.wildcards === undefined) {
      const beside = this.#exact.get(pattern.text);
      beside?.delete(value);
      if (beside?.size === 0) this.#exact.delete(pattern.text);
      return;
    }
    this.#withWildcards--;
    for (const tokens of pattern.wildcards) removeFrom(this.#root, tokens, value);
  }

  /** Returns the values whose pattern matches the topic, each once, exact matches first. */
  matching(topic: string): ReadonlySet<Value> {
    const exact = this.#exact.get(topic);
    if (this.#withWildcards === 0) return exact ?? new Set();
    const found = new Set(exact);
    let reached: Reached<Value> = new Map();
    reach(this.#root, false, reached);
    for (const token of tokensOf(topic)) {
      const next: Reached<Value> = new Map();
      for (const [node, isMatchingMany] of reached) step(node, isMatchingMany, token, next);
      reached = next;
      if (reached.size === 0) break;
    }
    for (const node of reached.keys()) for (const value of node.ends) found.add(value);
    return found;
  }
}

function newNode<Value>(firstSeparator?: string): Node<Value> {
  return { literal: new Map(), one: new Map(), many: new Map(), ends: new Set(), firstSeparator };
}

function edgesFor<Value>(
  node: Node<Value>,
  token: string,
): { readonly edges: Map<string, Node<Value>>; readonly label: string } {
  const segment = segmentOf(token);
  if (segment === "*") return { edges: node.one, label: separatorOf(token) };
  if (segment === "**") return { edges: node.many, label: separatorOf(token) };
  return { edges: node.literal, label: token };
}

function childFor<Value>(node: Node<Value>, token: string): Node<Value> {
  const { edges, label } = edgesFor(node, token);
  const found = edges.get(label);
  if (found !== undefined) return found;
  const made = newNode<Value>(edges === node.many ? label : undefined);
  edges.set(label, made);
  return made;
}

function removeFrom<Value>(node: Node<Value>, [token, ...others]: readonly string[], value: Value): void {
  if (token === undefined) {
    node.ends.delete(value);
    return;
  }
  const { edges, label } = edgesFor(node, token);
  const child = edges.get(label);
  if (child === undefined) return;
  removeFrom(child, others, value);
  if (child.ends.size + child.literal.size + child.one.size + child.many.size === 0) edges.delete(label);
}

/** Adds a node, and the nodes after a `**` that follows it, because `**` may match no segment. */
function reach<Value>(node: Node<Value>, isMatchingMany: boolean, reached: Reached<Value>): void {
  reached.set(node, isMatchingMany || reached.get(node) === true);
  for (const behind of node.many.values()) if (!reached.has(behind)) reach(behind, false, reached);
}

function step<Value>(node: Node<Value>, isMatchingMany: boolean, token: string, next: Reached<Value>): void {
  const separator = separatorOf(token);
  if (isMatchingMany || node.firstSeparator === separator) reach(node, true, next);
  const literal = node.literal.get(token);
  if (literal !== undefined) reach(literal, false, next);
  const one = node.one.get(separator);
  if (one !== undefined) reach(one, false, next);
}
