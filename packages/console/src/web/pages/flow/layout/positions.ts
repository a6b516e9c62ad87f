export interface Point {
  readonly x: number;
  readonly y: number;
}

export type Positions = ReadonlyMap<string, Point>;

export const NODE = { width: 220, height: 52 } as const;
export const GAP = 16;

/**
 * Returns a position for each node. Nodes that have a saved position keep it. A new node is placed beside a neighbour,
 * as in the automatic layout. It is then moved down until it overlaps no other node.
 */
export function placeNodes(
  ids: readonly string[],
  edges: readonly { readonly from: string; readonly to: string }[],
  auto: Positions,
  saved: Positions,
): Positions {
  const positions = new Map<string, Point>();
  for (const id of ids) {
    const position = saved.get(id);
    if (position !== undefined) positions.set(id, position);
  }
  if (positions.size === 0) return new Map(ids.map((id) => [id, auto.get(id) ?? { x: 0, y: 0 }]));
  const neighbours = new Map<string, string[]>();
  for (const { from, to } of edges) {
    neighbours.set(from, [...(neighbours.get(from) ?? []), to]);
    neighbours.set(to, [...(neighbours.get(to) ?? []), from]);
  }
  for (const id of ids) {
    if (positions.has(id)) continue;
    const wanted = auto.get(id) ?? { x: 0, y: 0 };
    const anchor = (neighbours.get(id) ?? []).find((neighbour) => positions.has(neighbour) && auto.has(neighbour));
    const [current, automatic] =
      anchor === undefined ? [undefined, undefined] : [positions.get(anchor), auto.get(anchor)];
    const moved =
      current === undefined || automatic === undefined
        ? wanted
        : { x: wanted.x + current.x - automatic.x, y: wanted.y + current.y - automatic.y };
    positions.set(id, withoutOverlap(moved, [...positions.values()]));
  }
  return positions;
}

function withoutOverlap(wanted: Point, taken: readonly Point[]): Point {
  let { y } = wanted;
  // Each step moves the node below one node that it overlaps. So the number of steps is at most the number of nodes.
  for (const _ of taken) {
    const covered = taken.find(
      (other) => Math.abs(other.x - wanted.x) < NODE.width + GAP && Math.abs(other.y - y) < NODE.height + GAP,
    );
    if (covered === undefined) break;
    y = covered.y + NODE.height + GAP;
  }
  return { x: wanted.x, y };
}

/** Reads a saved layout from its state item. Ignores invalid entries. */
export function readPositions(value: unknown): Positions {
  const { positions: stored } = (typeof value === "object" && value !== null ? value : {}) as {
    readonly positions?: unknown;
  };
  const positions = new Map<string, Point>();
  if (typeof stored !== "object" || stored === null) return positions;
  for (const [id, point] of Object.entries(stored)) {
    if (!Array.isArray(point)) continue;
    const [x, y] = point as readonly unknown[];
    if (typeof x === "number" && typeof y === "number" && Number.isFinite(x) && Number.isFinite(y))
      positions.set(id, { x, y });
  }
  return positions;
}

export function writePositions(positions: Positions): Readonly<Record<string, unknown>> {
  return {
    positions: Object.fromEntries([...positions].map(([id, { x, y }]) => [id, [Math.round(x), Math.round(y)]])),
    saved_at_ms: Date.now(),
  };
}
