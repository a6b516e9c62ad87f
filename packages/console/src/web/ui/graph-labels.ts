import type { AriaLabelConfig } from "@xyflow/react";
import { t } from "../labels/translate.ts";

/**
 * Returns the labels of React Flow in the language of the page. `nodeKeys`: what keys do at a node that has the focus.
 * React Flow names them the wrong way round: it shows `keyboardDisabled` if keys are enabled.
 */
export function graphLabels(nodeKeys: string): Partial<AriaLabelConfig> {
  return {
    "node.a11yDescription.keyboardDisabled": nodeKeys,
    "node.a11yDescription.ariaLiveMessage": ({ x, y }) => t`The node was moved. New position: ${x}, ${y}`,
    // Edges never have the focus.
    "edge.a11yDescription.default": "",
    "controls.ariaLabel": t`Zoom`,
    "controls.zoomIn.ariaLabel": t`Zoom in`,
    "controls.zoomOut.ariaLabel": t`Zoom out`,
    "controls.fitView.ariaLabel": t`Show the whole graph`,
    "minimap.ariaLabel": t`Overview of the graph`,
  };
}
