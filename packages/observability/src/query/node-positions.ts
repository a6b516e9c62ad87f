import { CallError } from "@svc-runtime/protocol";
import { z } from "zod";

const scalar = z.union([z.string(), z.number()]);
/**
 * Position of a row in its node's list: its sort value, and a second value that distinguishes it from rows with the
 * same sort value.
 */
export const positionSchema = z.tuple([scalar, scalar]);
export type Position = z.infer<typeof positionSchema>;

/**
 * Position after which a node's next page begins. `start` is the beginning of the list, `end` means that there are no
 * more rows.
 */
export const pageStartSchema = z.union([positionSchema, z.enum(["start", "end"])]);
export type PageStart = z.infer<typeof pageStartSchema>;

/** Returns the schema of a cursor. `position` is the schema of the positions in this list. */
function cursorSchema(position: z.ZodType<Position>) {
  return z.object({
    nodes: z.record(z.string(), z.union([position, z.enum(["start", "end"])])),
    front: position.nullable(),
    skip: z.int().min(0).default(0),
  });
}

/** Start of the next page for each node that has answered before, and one start for all other nodes. */
export const pageStartsSchema = z.object({ nodes: z.record(z.string(), pageStartSchema), others: pageStartSchema });
export type PageStarts = z.infer<typeof pageStartsSchema>;

/** Returns the start of the next page of a node. */
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
  /** Position of the last row of this page. Undefined on the node's last page. */
  readonly next: Position | undefined;
}

/** Rows of all nodes, in order, up to the end of the page that ends first. */
export interface MergedRows<Row extends RowOfNode> {
  readonly rows: readonly Row[];
  readonly pages: readonly PageOfNode<Row>[];
}

/** For each node, the position up to which a list has been read. */
export class NodePositions {
  /**
   * Number of rows to skip before the first one. It comes from the offset, or from rows that the previous page had no
   * time to skip.
   */
  readonly skip: number;
  readonly #positions: Map<string, PageStart>;
  /** The last row of all nodes that was read. A node that did not answer before continues after this position. */
  #front: Position | undefined;
  /** Names of the nodes that answered the last question. */
  #answered: readonly string[] = [];

  private constructor(positions: Map<string, PageStart>, front: Position | undefined, skip: number) {
    this.#positions = positions;
    this.#front = front;
    this.skip = skip;
  }

  /**
   * Creates the positions. `text` is a result of `next`. Without it, the list begins at the start and `skip` rows are
   * skipped. Throws `invalid_input` if the text is invalid.
   */
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

  /** True if no node that answered the last question has more rows. Other nodes may have more. */
  get nobodyHasMore(): boolean {
    return this.#answered.length > 0 && this.#answered.every((node) => this.#positions.get(node) === "end");
  }

  /**
   * True if the list has ended: neither the nodes that answered the last question nor the silent ones have more rows.
   * Of the silent nodes, only those that have answered before are considered. All other nodes have left the cluster.
   */
  isEnd(silent: Iterable<string>): boolean {
    const there = [...this.#answered, ...silent].map((node) => this.#positions.get(node) ?? "end");
    return this.#positions.size > 0 && there.every((position) => position === "end");
  }

  get starts(): PageStarts {
    return { nodes: Object.fromEntries(this.#positions), others: this.#front ?? "start" };
  }

  /**
   * Merges the pages of all nodes, up to the end of the page that ends first. Rows after it are left out, because that
   * node may have further rows that come before them.
   */
  merge<Row extends RowOfNode>(pages: readonly PageOfNode<Row>[], descending: boolean): MergedRows<Row> {
    this.#answered = pages.map(({ node }) => node);
    const sign = descending ? -1 : 1;
    // The sort is stable, so the rows of one node keep their order.
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

  /** Marks the first `taken` rows as read. */
  advance<Row extends RowOfNode>({ rows, pages }: MergedRows<Row>, taken: number): void {
    const read = rows.slice(0, taken);
    this.#front = read.at(-1)?.at ?? this.#front;
    for (const { node, rows: own, next } of pages) {
      const last = read.findLast((row) => row.node === node);
      if (last === own.at(-1)) this.#positions.set(node, next ?? "end");
      else this.#positions.set(node, last?.at ?? this.#positions.get(node) ?? "start");
    }
  }

  /** Returns the text for a cursor. `skip` is the number of rows that must still be skipped. */
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
