import { useCallback, useEffect, useRef, useState } from "react";
import type { Graph } from "../../../model/flow-graph.ts";
import { type Places, placeNodes } from "./place.ts";
import { useAutoLayout } from "./use-auto-layout.ts";
import { type SavedLayout, useSavedLayout } from "./use-saved-layout.ts";

export interface PlacesNow {
  /** Undefined until the layout is made and it is known what was saved. */
  readonly places: Places | undefined;
  readonly layout: SavedLayout;
  readonly move: (places: Places) => void;
}

/** Where the nodes stand: as saved, as moved here, the rest by the automatic layout; what stands is not moved by what comes later. */
export function usePlaces(graph: Graph, flow: string, direction: "LR" | "TB", refusal: string | undefined, isComplete: boolean): PlacesNow {
  const layout = useSavedLayout(flow, refusal);
  const auto = useAutoLayout(graph, direction);
  const [places, setPlaces] = useState<Places>();
  /** By what is saved or was moved; of the automatic layout only what was shown. */
  const kept = useRef<Places>(new Map());
  const { loaded, save } = layout;
  useEffect(() => {
    kept.current = loaded ?? new Map();
    setPlaces(undefined);
  }, [loaded]);
  useEffect(() => {
    if (auto === undefined || loaded === undefined || !isComplete) return;
    const [, ids, ways] = JSON.parse(auto.shape) as [string, string[], [string, string][]];
    const next = placeNodes(
      ids,
      ways.map(([from, to]) => ({ from, to })),
      auto.places,
      kept.current,
    );
    // Nodes that are away keep their place for when they come back.
    kept.current = new Map([...kept.current, ...next]);
    setPlaces(next);
  }, [auto, loaded, isComplete]);
  const move = useCallback(
    (moved: Places): void => {
      kept.current = new Map([...kept.current, ...moved]);
      setPlaces(moved);
      save(kept.current);
    },
    [save],
  );
  return { places, layout, move };
}
