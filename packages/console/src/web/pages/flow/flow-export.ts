import { t } from "../../labels/translate.ts";
import type { Graph } from "../../model/flow-graph.ts";
import { KIND_NAMES } from "../../model/node-kinds.ts";
import { NODE, type Positions } from "./layout/positions.ts";
import { countText } from "./model/count-text.ts";
import { toneOf } from "./node-style.ts";

/** Returns the colour of a token, for example `ink`, in the current theme. */
export type ColorOf = (token: string) => string;

const MARGIN = 24;
const LABEL_CHARACTERS = 26;

/** Returns the graph as an SVG without external styles and fonts. */
export function svgOf(
  graph: Graph,
  positions: Positions,
  { isVertical, isSample }: { readonly isVertical: boolean; readonly isSample: boolean },
  colorOf: ColorOf,
): string {
  const points = graph.nodes.map(({ id }) => positions.get(id) ?? { x: 0, y: 0 });
  const left = Math.min(...points.map(({ x }) => x)) - MARGIN;
  const top = Math.min(...points.map(({ y }) => y)) - MARGIN;
  const width = Math.max(...points.map(({ x }) => x)) + NODE.width + MARGIN - left;
  const height = Math.max(...points.map(({ y }) => y)) + NODE.height + MARGIN - top;
  const edges = graph.edges.map(({ from, to, kind, calls, errors }) => {
    const [a, b] = [positions.get(from), positions.get(to)];
    if (a === undefined || b === undefined) return "";
    const [x1, y1] = isVertical ? [a.x + NODE.width / 2, a.y + NODE.height] : [a.x + NODE.width, a.y + NODE.height / 2];
    const [x2, y2] = isVertical ? [b.x + NODE.width / 2, b.y] : [b.x, b.y + NODE.height / 2];
    const bend = Math.max(40, Math.abs(isVertical ? y2 - y1 : x2 - x1) / 2);
    const bends = isVertical ? `${x1} ${y1 + bend} ${x2} ${y2 - bend}` : `${x1 + bend} ${y1} ${x2 - bend} ${y2}`;
    const color = colorOf(errors > 0 ? "danger" : "line-strong");
    const line = `<path d="M${x1} ${y1}C${bends} ${x2} ${y2}" fill="none" stroke="${color}" stroke-width="1.5"${kind === "observed" ? ' stroke-dasharray="6 4"' : ""}/>`;
    const label =
      kind === "observed"
        ? `<text x="${(x1 + x2) / 2}" y="${(y1 + y2) / 2 - 4}" text-anchor="middle" font-size="12" fill="${colorOf("ink-2")}">${countText({ calls, errors }, isSample)}</text>`
        : "";
    return line + label;
  });
  const boxes = graph.nodes.map((node) => {
    const { x, y } = positions.get(node.id) ?? { x: 0, y: 0 };
    const label = node.label.length > LABEL_CHARACTERS ? `${node.label.slice(0, LABEL_CHARACTERS - 1)}…` : node.label;
    return [
      `<g><title>${escapeXml(`${KIND_NAMES[node.kind]} ${node.label}`)}</title>`,
      `<rect x="${x}" y="${y}" width="${NODE.width}" height="${NODE.height}" rx="6" fill="${colorOf("surface")}" stroke="${colorOf(node.errors > 0 ? "danger" : "line-strong")}"/>`,
      `<rect x="${x}" y="${y}" width="6" height="${NODE.height}" rx="3" fill="${colorOf(toneOf(node))}"/>`,
      `<text x="${x + 16}" y="${y + 22}" font-size="12" font-family="monospace" fill="${colorOf("ink")}">${escapeXml(label)}</text>`,
      `<text x="${x + 16}" y="${y + 40}" font-size="11" fill="${colorOf("ink-3")}">${KIND_NAMES[node.kind]}</text></g>`,
    ].join("");
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${left} ${top} ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif"><rect x="${left}" y="${top}" width="${width}" height="${height}" fill="${colorOf("canvas")}"/>${edges.join("")}${boxes.join("")}</svg>`;
}

function escapeXml(text: string): string {
  const escapes: Readonly<Record<string, string>> = { "<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;" };
  // Control characters are removed, because XML allows them not even in escaped form.
  return text.replace(/[<>&"]/g, (character) => escapes[character] ?? "").replace(/\p{Cc}/gu, " ");
}

/**
 * Converts an SVG to a PNG. The PNG has twice the size, so that it is sharp on high-resolution screens, but at most
 * 8,000 pixels in width and height. Rejects if the browser cannot draw the SVG.
 */
export async function pngOf(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const scale = Math.min(2, 8_000 / Math.max(image.width, image.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(image.width * scale);
  canvas.height = Math.round(image.height * scale);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob(
      (blob) => (blob === null ? reject(new Error(t`the browser could not draw the image`)) : resolve(blob)),
      "image/png",
    ),
  );
}

export function graphJson(graph: Graph, positions: Positions): string {
  return `${JSON.stringify({ nodes: graph.nodes.map((node) => ({ ...node, position: positions.get(node.id) ?? null })), edges: graph.edges }, undefined, 2)}\n`;
}
