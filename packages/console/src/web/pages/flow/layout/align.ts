import { GAP, NODE, type Places, type Point } from "./place.ts";

export type Alignment = "left" | "top" | "across" | "down";

/** The places with these nodes in a column, in a row, or with the same room between each of them; nobody is laid on another. */
export function aligned(places: Places, ids: readonly string[], how: Alignment): Places {
  const points = ids.flatMap((id) => {
    const point = places.get(id);
    return point === undefined ? [] : [{ id, ...point }];
  });
  if (points.length < 2) return places;
  const next = new Map(places);
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
      // In a row or a column those that would cover each other move on.
      before = Math.max(how === "left" ? y : x, before + least);
      next.set(id, how === "left" ? { x: edge, y: before } : { x: before, y: edge });
    }
  }
  return next;
}
