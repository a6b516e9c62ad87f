import { useCallback, useEffect, useRef, useState } from "react";
import type { Graph } from "../../../model/flow-graph.ts";
import { type Positions, placeNodes } from "./positions.ts";
import { useAutoLayout } from "./use-auto-layout.ts";
import { type SavedLayout, useSavedLayout } from "./use-saved-layout.ts";

export interface NodePositions {
  /** Undefined until both the automatic and the saved layout are available. */
  readonly positions: Positions | undefined;
  readonly layout: SavedLayout;
  readonly move: (positions: Positions) => void;
}

/**
 * Returns the positions of the nodes. They come from the saved layout, from moves by the user, or from the automatic
 * layout. New nodes do not move existing ones.
 */
export function useNodePositions(
  graph: Graph,
  flow: string,
  direction: "LR" | "TB",
  refusal: string | undefined,
  isComplete: boolean,
): NodePositions {
  const layout = useSavedLayout(flow, refusal);
  const auto = useAutoLayout(graph, direction);
  const [positions, setPositions] = useState<Positions>();
  /** All positions so far. It includes nodes that do not exist now. */
  const known = useRef<Positions>(new Map());
  const { loaded, save } = layout;
  useEffect(() => {
    known.current = loaded ?? new Map();
    setPositions(undefined);
  }, [loaded]);
  useEffect(() => {
    if (auto === undefined || loaded === undefined || !isComplete) return;
    const [, ids, edges] = JSON.parse(auto.shape) as [string, string[], [string, string][]];
    const next = placeNodes(
      ids,
      edges.map(([from, to]) => ({ from, to })),
      auto.positions,
      known.current,
    );
    // If a node disappears and appears again later, it gets its earlier position.
    known.current = new Map([...known.current, ...next]);
    setPositions(next);
  }, [auto, loaded, isComplete]);
  const move = useCallback(
    (moved: Positions): void => {
      known.current = new Map([...known.current, ...moved]);
      setPositions(moved);
      save(known.current);
    },
    [save],
  );
  return { positions, layout, move };
}
