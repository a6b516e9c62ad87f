import { useMutation } from "@tanstack/react-query";
import { t } from "../../labels/translate.ts";
import { downloadBlob } from "../../lib/download-blob.ts";
import type { Graph } from "../../model/flow-graph.ts";
import { graphJson, pngOf, svgOf } from "./flow-export.ts";
import type { Positions } from "./layout/positions.ts";

type Format = "svg" | "png" | "json";

/** Menu that downloads the visible graph. */
export function ExportMenu({
  graph,
  positions,
  isVertical,
  isSample,
}: {
  readonly graph: Graph;
  readonly positions: Positions;
  readonly isVertical: boolean;
  readonly isSample: boolean;
}) {
  const save = useMutation({
    mutationFn: async (format: Format): Promise<void> => {
      const styles = getComputedStyle(document.documentElement);
      const svg = (): string =>
        svgOf(graph, positions, { isVertical, isSample }, (token) => styles.getPropertyValue(`--${token}`).trim());
      if (format === "json")
        downloadBlob(new Blob([graphJson(graph, positions)], { type: "application/json" }), "flow.json");
      else if (format === "svg") downloadBlob(new Blob([svg()], { type: "image/svg+xml" }), "flow.svg");
      else downloadBlob(await pngOf(svg()), "flow.png");
    },
  });
  return (
    <>
      <select
        aria-label={t`Export the graph`}
        className="h-7 rounded-md border border-line-strong/60 bg-surface px-1.5"
        value=""
        disabled={graph.nodes.length === 0}
        onChange={(event) => save.mutate(event.target.value as Format)}
      >
        <option value="" disabled>
          {t`Export…`}
        </option>
        <option value="svg">{t`as SVG`}</option>
        <option value="png">{t`as PNG`}</option>
        <option value="json">{t`as JSON`}</option>
      </select>
      {save.error !== null && (
        <span role="alert" className="text-danger">
          {t`Failed to export: ${save.error.message}`}
        </span>
      )}
    </>
  );
}
