import type { Graph } from "../../../model/flow-graph.ts";
import { NODE, type Point, type Positions } from "./positions.ts";

/**
 * Returns the node that gets the focus after an arrow key; undefined if there is none. Two of the keys run along the
 * direction of the layout, and follow edges. The other two move to the nearest node of the same rank.
 */
export function stepFrom(
  graph: Graph,
  positions: Positions,
  id: string,
  key: string,
  isVertical: boolean,
): string | undefined {
  const here = positions.get(id);
  if (here === undefined) return undefined;
  const [ahead, back] = isVertical ? ["ArrowDown", "ArrowUp"] : ["ArrowRight", "ArrowLeft"];
  if (key === ahead || key === back) {
    const ids = graph.edges.flatMap(({ from, to }) =>
      key === ahead ? (from === id ? [to] : []) : to === id ? [from] : [],
    );
    return nearest(
      ids.filter((each) => each !== id),
      positions,
      (there) => Math.hypot(there.x - here.x, there.y - here.y),
    );
  }
  const sign = key === "ArrowDown" || key === "ArrowRight" ? 1 : -1;
  const across = (there: Point): number => sign * (isVertical ? there.x - here.x : there.y - here.y);
  const apart = (there: Point): number => Math.abs(isVertical ? there.y - here.y : there.x - here.x);
  const rank = (isVertical ? NODE.height : NODE.width) / 2;
  return nearest(
    graph.nodes.map((node) => node.id),
    positions,
    (there) => (across(there) > 0 && apart(there) < rank ? across(there) : Number.POSITIVE_INFINITY),
  );
}

function nearest(
  ids: readonly string[],
  positions: Positions,
  distanceTo: (there: Point) => number,
): string | undefined {
  let best: { readonly id: string; readonly distance: number } | undefined;
  for (const id of ids) {
    const there = positions.get(id);
    const distance = there === undefined ? Number.POSITIVE_INFINITY : distanceTo(there);
    if (Number.isFinite(distance) && (best === undefined || distance < best.distance)) best = { id, distance };
  }
  return best?.id;
}
