import { GAP, NODE, type Point, type Positions } from "./positions.ts";

export type Alignment = "left" | "top" | "across" | "down";

/**
 * Returns the positions after these nodes were aligned in a column or row, or distributed evenly. Nodes do not overlap.
 */
export function aligned(positions: Positions, ids: readonly string[], how: Alignment): Positions {
  const points = ids.flatMap((id) => {
    const point = positions.get(id);
    return point === undefined ? [] : [{ id, ...point }];
  });
  if (points.length < 2) return positions;
  const next = new Map(positions);
  const along: keyof Point = how === "left" || how === "down" ? "y" : "x";
  const least = (along === "y" ? NODE.height : NODE.width) + GAP;
  points.sort((a, b) => a[along] - b[along]);
  const [first, last] = [points[0] as Point, points.at(-1) as Point];
  const even = Math.max(least, (last[along] - first[along]) / (points.length - 1));
  const edge = how === "left" ? Math.min(...points.map(({ x }) => x)) : Math.min(...points.map(({ y }) => y));
  let before = Number.NEGATIVE_INFINITY;
  for (const [at, { id, x, y }] of points.entries()) {
    if (how === "across") next.set(id, { x: first.x + at * even, y });
    else if (how === "down") next.set(id, { x, y: first.y + at * even });
    else {
      // A node that would overlap the one before it is moved on.
      before = Math.max(how === "left" ? y : x, before + least);
      next.set(id, how === "left" ? { x: edge, y: before } : { x: before, y: edge });
    }
  }
  return next;
}
