import { useMutation } from "@tanstack/react-query";
import type { Graph } from "../../model/flow-graph.ts";
import { downloadBlob } from "./download-blob.ts";
import { graphJson, pngOf, svgOf } from "./flow-export.ts";
import type { Places } from "./layout/place.ts";

type Format = "svg" | "png" | "json";

/** Downloads the graph as it is shown. */
export function ExportMenu({ graph, places, isVertical }: { readonly graph: Graph; readonly places: Places; readonly isVertical: boolean }) {
  const make = useMutation({
    mutationFn: async (format: Format): Promise<void> => {
      const styles = getComputedStyle(document.documentElement);
      const svg = (): string => svgOf(graph, places, isVertical, (token) => styles.getPropertyValue(`--${token}`).trim());
      if (format === "json") downloadBlob(new Blob([graphJson(graph, places)], { type: "application/json" }), "flow.json");
      else if (format === "svg") downloadBlob(new Blob([svg()], { type: "image/svg+xml" }), "flow.svg");
      else downloadBlob(await pngOf(svg()), "flow.png");
    },
  });
  return (
    <>
      <select
        aria-label="Export the graph"
        className="h-7 rounded-md border border-line-strong/60 bg-surface px-1.5"
        value=""
        disabled={graph.nodes.length === 0}
        onChange={(event) => make.mutate(event.target.value as Format)}
      >
        <option value="" disabled>
          Export…
        </option>
        <option value="svg">as SVG</option>
        <option value="png">as PNG</option>
        <option value="json">as JSON</option>
      </select>
      {make.error !== null && (
        <span role="alert" className="text-danger">
          Not exported: {make.error.message}
        </span>
      )}
    </>
  );
}
