import { CallError } from "@svc-runtime/protocol";
import { z } from "zod";

const scalar = z.union([z.string(), z.number()]);
/** Where a row is in its node's list: its sort value, and what tells it from others with the same one. */
export const positionSchema = z.tuple([scalar, scalar]);
export type Position = z.infer<typeof positionSchema>;

/** Where the next page of a node begins. */
export const pageStartSchema = z.union([positionSchema, z.enum(["start", "end"])]);
export type PageStart = z.infer<typeof pageStartSchema>;

/** `position`: the form of the positions of a list. */
function cursorSchema(position: z.ZodType<Position>) {
  return z.object({
    nodes: z.record(z.string(), z.union([position, z.enum(["start", "end"])])),
    front: position.nullable(),
    skip: z.int().min(0).default(0),
  });
}

/** Where the pages of all nodes begin: those of nodes that have answered before, and of others. */
export const pageStartsSchema = z.object({ nodes: z.record(z.string(), pageStartSchema), others: pageStartSchema });
export type PageStarts = z.infer<typeof pageStartsSchema>;

/** Returns where the page of a node begins. */
export function pageStartOf({ nodes, others }: PageStarts, name: string): PageStart {
  return (Object.hasOwn(nodes, name) ? nodes[name] : undefined) ?? others;
}

export interface RowOfNode {
  readonly node: string;
  readonly at: Position;
}

export interface PageOfNode<Row extends RowOfNode> {
  readonly node: string;
  readonly rows: readonly Row[];
  /** Undefined on the node's last page. */
  readonly next: Position | undefined;
}

/** Rows of all nodes, in order, up to where the page of a node ends. */
export interface MergedRows<Row extends RowOfNode> {
  readonly rows: readonly Row[];
  readonly pages: readonly PageOfNode<Row>[];
}

/** How far a list has come at each node. */
export class NodePositions {
  /** Number of rows to leave out before the first one: the offset, or what the former page had no time for. */
  readonly skip: number;
  readonly #positions: Map<string, PageStart>;
  /** The last row of all. A node that did not answer before continues there. */
  #front: Position | undefined;
  /** Nodes of the last pages. */
  #answered: readonly string[] = [];

  private constructor(positions: Map<string, PageStart>, front: Position | undefined, skip: number) {
    this.#positions = positions;
    this.#front = front;
    this.skip = skip;
  }

  /** `text` is a result of `next`; without one, `skip` rows are left out. Throws `invalid_input` if it is not. */
  static from(
    text: string | undefined,
    { skip = 0, position = positionSchema }: { readonly skip?: number; readonly position?: z.ZodType<Position> },
  ): NodePositions {
    if (text === undefined) return new NodePositions(new Map(), undefined, skip);
    const parsed = cursorSchema(position).safeParse(jsonOf(text));
    if (!parsed.success)
      throw new CallError("invalid_input", "`cursor`: is not one of this list in a cluster; start at the first page");
    const { nodes, front, skip: left } = parsed.data;
    return new NodePositions(new Map(Object.entries(nodes)), front ?? undefined, left);
  }

  /** True if no node that answered the last question has more rows. Others may have. */
  get nobodyHasMore(): boolean {
    return this.#answered.length > 0 && this.#answered.every((node) => this.#positions.get(node) === "end");
  }

  /**
   * True if neither the nodes that answered the last question nor the silent ones, as far as they have answered before,
   * have more rows. The others are gone.
   */
  isEnd(silent: Iterable<string>): boolean {
    const there = [...this.#answered, ...silent].map((node) => this.#positions.get(node) ?? "end");
    return this.#positions.size > 0 && there.every((position) => position === "end");
  }

  get starts(): PageStarts {
    return { nodes: Object.fromEntries(this.#positions), others: this.#front ?? "start" };
  }

  /** The rows up to the end of the page that ends first: its node may have further rows before those of others. */
  merge<Row extends RowOfNode>(pages: readonly PageOfNode<Row>[], descending: boolean): MergedRows<Row> {
    this.#answered = pages.map(({ node }) => node);
    const sign = descending ? -1 : 1;
    // Stable: rows of a node stay in its order.
    let rows = pages
      .flatMap((page) => page.rows)
      .sort((one, other) => sign * order(one.at[0], other.at[0]) || order(one.node, other.node));
    for (const page of pages) {
      if (page.next === undefined) continue;
      const last = page.rows.at(-1);
      if (last === undefined) rows = [];
      else if (rows.includes(last)) rows = rows.slice(0, rows.indexOf(last) + 1);
    }
    return { rows, pages };
  }

  /** The first `taken` rows have been read. */
  advance<Row extends RowOfNode>({ rows, pages }: MergedRows<Row>, taken: number): void {
    const read = rows.slice(0, taken);
    this.#front = read.at(-1)?.at ?? this.#front;
    for (const { node, rows: own, next } of pages) {
      const last = read.findLast((row) => row.node === node);
      if (last === own.at(-1)) this.#positions.set(node, next ?? "end");
      else this.#positions.set(node, last?.at ?? this.#positions.get(node) ?? "start");
    }
  }

  /** Text for a cursor. `skip`: number of rows that are still to be left out. */
  next(skip: number): string {
    return JSON.stringify({ nodes: Object.fromEntries(this.#positions), front: this.#front ?? null, skip });
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function order(one: string | number, other: string | number): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
