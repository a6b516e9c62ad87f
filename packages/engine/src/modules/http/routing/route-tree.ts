import { coverStep, overlapStep, type RoutePattern, type Segment, type Step } from "./route-pattern.ts";

/** A route pattern in the tree, with its owner. */
export interface TreeEntry {
  readonly pattern: RoutePattern;
  readonly owner: string;
}

/** The relation of an entry to the searched pattern. */
export type Relation = "covers" | "is covered by" | "overlaps";

const STEPS: Readonly<Record<Relation, (entry: Segment, searched: Segment) => Step>> = {
  covers: coverStep,
  "is covered by": (entry, searched) => coverStep(searched, entry),
  overlaps: overlapStep,
};

interface Node<Entry> {
  readonly segment: Segment;
  readonly literals: Map<string, Node<Entry>>;
  parameter: Node<Entry> | undefined;
  tail: Node<Entry> | undefined;
  readonly entries: Set<Entry>;
  /**
   * Number of entries of each owner at and below this node. A search skips the node if only the excluded owner has
   * entries.
   */
  readonly owners: Map<string, number>;
}

/** A tree of route patterns by segment. A search visits only the branches that can contain its result. */
export class RouteTree<Entry extends TreeEntry> {
  readonly #root = nodeOf<Entry>({ kind: "literal", text: "" });
  #visits = 0;

  /** Number of nodes visited by searches so far: a measure of their cost. */
  get visits(): number {
    return this.#visits;
  }

  add(entry: Entry): void {
    let node = this.#root;
    count(node, entry.owner, 1);
    for (const segment of entry.pattern.segments) {
      node = childOf(node, segment) ?? addChild(node, segment);
      count(node, entry.owner, 1);
    }
    node.entries.add(entry);
  }

  delete(entry: Entry): void {
    let node = this.#root;
    count(node, entry.owner, -1);
    for (const segment of entry.pattern.segments) {
      const child = childOf(node, segment);
      if (child === undefined) return;
      count(child, entry.owner, -1);
      if (child.owners.size === 0) {
        removeChild(node, segment);
        return;
      }
      node = child;
    }
    node.entries.delete(entry);
  }

  /** Returns an entry with this relation to the pattern. Entries of the owner `except` are skipped. */
  find(relation: Relation, pattern: RoutePattern, except?: string): Entry | undefined {
    let found: Entry | undefined;
    this.#search(this.#root, 0, {
      segments: pattern.segments,
      stepOf: STEPS[relation],
      except,
      take: (entry) => {
        found = entry;
        return true;
      },
    });
    return found;
  }

  /** Returns all entries with this relation to the pattern. Entries of the owner `except` are skipped. */
  all(relation: Relation, pattern: RoutePattern, except?: string): Entry[] {
    const found: Entry[] = [];
    this.#search(this.#root, 0, {
      segments: pattern.segments,
      stepOf: STEPS[relation],
      except,
      take: (entry) => {
        found.push(entry);
        return false;
      },
    });
    return found;
  }

  /**
   * Returns the entry with the most specific pattern that matches the segments of a path, among those that `accepts`
   * allows. At each position a literal precedes a parameter, and a parameter precedes a tail.
   */
  match(texts: readonly string[], accepts: (entry: Entry) => boolean): Entry | undefined {
    return matchFrom(this.#root, texts, 0, accepts);
  }

  // Iterators and lists are avoided, because a search may visit many thousand nodes.
  /** Searches at and below a node. Returns true if `take` returned true, which ends the search. */
  #search(node: Node<Entry>, at: number, search: Search<Entry>): boolean {
    this.#visits++;
    const segment = search.segments[at];
    if (segment === undefined) return takeEach(node, search);
    if (segment.kind === "literal") {
      // Only the literal with this text can be related.
      const child = node.literals.get(segment.text);
      if (child !== undefined && this.#enter(child, segment, at, search)) return true;
    } else for (const child of node.literals.values()) if (this.#enter(child, segment, at, search)) return true;
    if (node.parameter !== undefined && this.#enter(node.parameter, segment, at, search)) return true;
    return node.tail !== undefined && this.#enter(node.tail, segment, at, search);
  }

  #enter(child: Node<Entry>, segment: Segment, at: number, search: Search<Entry>): boolean {
    const step = search.stepOf(child.segment, segment);
    if (step === "no" || !hasOther(child, search.except)) return false;
    return step === "next" ? this.#search(child, at + 1, search) : this.#takeAll(child, search);
  }

  #takeAll(node: Node<Entry>, search: Search<Entry>): boolean {
    this.#visits++;
    if (!hasOther(node, search.except)) return false;
    if (takeEach(node, search)) return true;
    for (const child of node.literals.values()) if (this.#takeAll(child, search)) return true;
    if (node.parameter !== undefined && this.#takeAll(node.parameter, search)) return true;
    return node.tail !== undefined && this.#takeAll(node.tail, search);
  }
}

function matchFrom<Entry>(
  node: Node<Entry>,
  texts: readonly string[],
  at: number,
  accepts: (entry: Entry) => boolean,
): Entry | undefined {
  const text = texts[at];
  if (text === undefined) return firstOf(node, accepts);
  const literal = node.literals.get(text);
  const found = literal === undefined ? undefined : matchFrom(literal, texts, at + 1, accepts);
  if (found !== undefined) return found;
  // Parameters and tails match at least one character.
  const byParameter =
    text === "" || node.parameter === undefined ? undefined : matchFrom(node.parameter, texts, at + 1, accepts);
  if (byParameter !== undefined) return byParameter;
  const isEmpty = text === "" && at === texts.length - 1;
  return isEmpty || node.tail === undefined ? undefined : firstOf(node.tail, accepts);
}

function firstOf<Entry>({ entries }: Node<Entry>, accepts: (entry: Entry) => boolean): Entry | undefined {
  for (const entry of entries) if (accepts(entry)) return entry;
  return undefined;
}

interface Search<Entry> {
  readonly segments: readonly Segment[];
  readonly stepOf: (entry: Segment, searched: Segment) => Step;
  readonly except: string | undefined;
  /** Returns true to end the search. */
  take(entry: Entry): boolean;
}

function takeEach<Entry extends TreeEntry>(node: Node<Entry>, search: Search<Entry>): boolean {
  for (const entry of node.entries) if (entry.owner !== search.except && search.take(entry)) return true;
  return false;
}

function hasOther<Entry>({ owners }: Node<Entry>, except: string | undefined): boolean {
  return owners.size > 1 || except === undefined || !owners.has(except);
}

function nodeOf<Entry>(segment: Segment): Node<Entry> {
  return { segment, literals: new Map(), parameter: undefined, tail: undefined, entries: new Set(), owners: new Map() };
}

function childOf<Entry>(node: Node<Entry>, segment: Segment): Node<Entry> | undefined {
  return segment.kind === "literal" ? node.literals.get(segment.text) : node[segment.kind];
}

function addChild<Entry>(node: Node<Entry>, segment: Segment): Node<Entry> {
  const child = nodeOf<Entry>(segment);
  if (segment.kind === "literal") node.literals.set(segment.text, child);
  else node[segment.kind] = child;
  return child;
}

function removeChild<Entry>(node: Node<Entry>, segment: Segment): void {
  if (segment.kind === "literal") node.literals.delete(segment.text);
  else node[segment.kind] = undefined;
}

function count<Entry>({ owners }: Node<Entry>, owner: string, change: number): void {
  const next = (owners.get(owner) ?? 0) + change;
  if (next === 0) owners.delete(owner);
  else owners.set(owner, next);
}
