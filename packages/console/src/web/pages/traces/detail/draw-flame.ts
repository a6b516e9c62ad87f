import { serviceToken } from "../../../lib/service-colors.ts";
import { selfTimeMs, type TraceForest } from "../../../model/span-forest.ts";
import type { Frame } from "../model/flame-layout.ts";
import { shareOf, type ViewWindow } from "./time-window.ts";

/** Height of a lane, in pixels. */
export const LANE = 22;
/** Minimum width of a frame that shows its text, in pixels. */
const MIN_TEXT_WIDTH = 36;

export type FlameColors = "service" | "status" | "self";

interface FlameDrawing {
  readonly width: number;
  readonly height: number;
  /** Scroll position, in pixels. */
  readonly top: number;
  readonly frames: readonly Frame[];
  readonly view: ViewWindow;
  readonly forest: TraceForest;
  readonly nowMs: number;
  readonly colors: FlameColors;
  readonly text: string;
  readonly selectedId: string | undefined;
  readonly activeId: string | undefined;
  readonly tokens: (name: string) => string;
}

/**
 * Draws the visible frames. Their colours are translucent, so that the text is readable in the light and the dark
 * theme.
 */
export function drawFlame(canvas: HTMLCanvasElement, drawing: FlameDrawing): void {
  const { width, height, top, frames, tokens } = drawing;
  const context = canvas.getContext("2d");
  if (context === null || width === 0) return;
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  canvas.style.height = `${height}px`;
  context.scale(devicePixelRatio, devicePixelRatio);
  context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  context.textBaseline = "middle";
  const wanted = drawing.text.toLowerCase();
  const longestSelf =
    drawing.colors === "self"
      ? Math.max(0.001, ...sampled(frames).map(({ node }) => selfTimeMs(node, drawing.nowMs)))
      : 1;
  for (const frame of frames) {
    const y = frame.lane * LANE - top;
    if (y + LANE < 0 || y > height) continue;
    const from = Math.max(0, shareOf(frame.node.startMs, drawing.view)) * width;
    const to = Math.min(1, shareOf(frame.endMs, drawing.view)) * width;
    if (from > width || to < from) continue;
    const { name, service } = frame.node;
    const isFound = wanted === "" || `${name} ${service}`.toLowerCase().includes(wanted);
    const box = { from, y, length: Math.max(1, to - from - 1) };
    const share = drawing.colors === "self" ? selfTimeMs(frame.node, drawing.nowMs) / longestSelf : 0.4;
    drawBox(context, box, tokens(tokenOf(frame, drawing)), isFound ? 0.12 + 0.5 * share : 0.07);
    const mark = markOf(frame, drawing);
    if (mark !== undefined) drawMark(context, box, tokens(mark));
    if (box.length >= MIN_TEXT_WIDTH)
      drawText(context, box, `${frame.node.status === "error" ? "⚠ " : ""}${name}`, tokens("--ink"), isFound);
  }
  context.globalAlpha = 1;
}

function markOf({ node }: Frame, { selectedId, activeId }: FlameDrawing): string | undefined {
  if (node.id === selectedId) return "--accent";
  return node.id === activeId ? "--line-strong" : undefined;
}

interface Box {
  readonly from: number;
  readonly y: number;
  readonly length: number;
}

function drawBox(context: CanvasRenderingContext2D, { from, y, length }: Box, color: string, strength: number): void {
  context.fillStyle = color;
  context.globalAlpha = strength;
  context.fillRect(from, y + 1, length, LANE - 2);
  context.globalAlpha = strength < 0.1 ? 0.25 : 1;
  context.fillRect(from, y + 1, Math.min(3, length), LANE - 2);
}

function drawMark(context: CanvasRenderingContext2D, { from, y, length }: Box, color: string): void {
  context.globalAlpha = 1;
  context.strokeStyle = color;
  context.lineWidth = 2;
  context.strokeRect(from + 1, y + 2, Math.max(1, length - 2), LANE - 4);
}

function drawText(
  context: CanvasRenderingContext2D,
  { from, y, length }: Box,
  text: string,
  color: string,
  isFound: boolean,
): void {
  context.globalAlpha = isFound ? 1 : 0.5;
  context.fillStyle = color;
  context.save();
  context.beginPath();
  context.rect(from, y, length - 3, LANE);
  context.clip();
  context.fillText(text, from + 7, y + LANE / 2);
  context.restore();
}

function tokenOf({ node }: Frame, { colors }: FlameDrawing): string {
  if (node.span === undefined) return "--warn";
  if (colors === "self") return "--warn";
  if (colors === "status" || node.status === "error")
    return node.status === "error" ? "--danger" : node.status === "pending" ? "--info" : "--ok";
  return serviceToken(node.service);
}

/** Returns at most 20,000 frames, because a call with 100,000 spread arguments would overflow the stack. */
function sampled(frames: readonly Frame[]): readonly Frame[] {
  return frames.length <= 20_000 ? frames : frames.slice(0, 20_000);
}
