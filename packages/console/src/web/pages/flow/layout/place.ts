export interface Point {
  readonly x: number;
  readonly y: number;
}

export type Places = ReadonlyMap<string, Point>;

export const NODE = { width: 220, height: 52 } as const;
export const GAP = 16;

/**
 * Where each node stands: those that have a place keep it, new ones stand where the automatic layout has them beside a neighbour that has a place, moved
 * down until they cover nobody.
 */
export function placeNodes(ids: readonly string[], edges: readonly { readonly from: string; readonly to: string }[], auto: Places, kept: Places): Places {
  const places = new Map<string, Point>();
  for (const id of ids) {
    const place = kept.get(id);
    if (place !== undefined) places.set(id, place);
  }
  if (places.size === 0) return new Map(ids.map((id) => [id, auto.get(id) ?? { x: 0, y: 0 }]));
  const neighbours = new Map<string, string[]>();
  for (const { from, to } of edges) {
    neighbours.set(from, [...(neighbours.get(from) ?? []), to]);
    neighbours.set(to, [...(neighbours.get(to) ?? []), from]);
  }
  for (const id of ids) {
    if (places.has(id)) continue;
    const wanted = auto.get(id) ?? { x: 0, y: 0 };
    const anchor = (neighbours.get(id) ?? []).find((neighbour) => places.has(neighbour) && auto.has(neighbour));
    const [stands, stood] = anchor === undefined ? [undefined, undefined] : [places.get(anchor), auto.get(anchor)];
    const moved = stands === undefined || stood === undefined ? wanted : { x: wanted.x + stands.x - stood.x, y: wanted.y + stands.y - stood.y };
    places.set(id, freeFrom(moved, [...places.values()]));
  }
  return places;
}

function freeFrom(wanted: Point, taken: readonly Point[]): Point {
  let { y } = wanted;
  // Each step goes past one that is covered, so there are no more steps than places.
  for (const _ of taken) {
    const covered = taken.find((other) => Math.abs(other.x - wanted.x) < NODE.width + GAP && Math.abs(other.y - y) < NODE.height + GAP);
    if (covered === undefined) break;
    y = covered.y + NODE.height + GAP;
  }
  return { x: wanted.x, y };
}

/** A saved layout, read from what the state holds; what does not fit is left out. */
export function readPlaces(value: unknown): Places {
  const { positions } = (typeof value === "object" && value !== null ? value : {}) as { readonly positions?: unknown };
  const places = new Map<string, Point>();
  if (typeof positions !== "object" || positions === null) return places;
  for (const [id, point] of Object.entries(positions)) {
    if (!Array.isArray(point)) continue;
    const [x, y] = point as readonly unknown[];
    if (typeof x === "number" && typeof y === "number" && Number.isFinite(x) && Number.isFinite(y)) places.set(id, { x, y });
  }
  return places;
}

export function writePlaces(places: Places): Readonly<Record<string, unknown>> {
  return { positions: Object.fromEntries([...places].map(([id, { x, y }]) => [id, [Math.round(x), Math.round(y)]])), saved_at_ms: Date.now() };
}
