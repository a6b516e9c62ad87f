import "uplot/dist/uPlot.min.css";
import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import { clockTime, useZone, type Zone } from "../lib/time.ts";

interface ChartLine {
  readonly name: string;
  readonly tone: "accent" | "info" | "violet" | "warn" | "danger" | "service-3";
  /** Values of the line, one for each time. Null if a value is not known. */
  readonly values: readonly (number | null)[];
}

export interface TimeChartProps {
  readonly title: string;
  /** Times in milliseconds since 1970, in ascending order. */
  readonly times: readonly number[];
  readonly lines: readonly ChartLine[];
  readonly format: (value: number) => string;
  /** Charts with the same key share a crosshair. */
  readonly syncKey?: string | undefined;
}

const HEIGHT = 128;

/**
 * Returns a number that changes when the theme changes. The chart is then drawn again, because a canvas keeps its
 * colours.
 */
function useThemeChanges(): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const observer = new MutationObserver(() => setCount((before) => before + 1));
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => observer.disconnect();
  }, []);
  return count;
}

function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export default function TimeChartImpl({ times, lines, format, syncKey }: TimeChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(undefined);
  const theme = useThemeChanges();
  const zone = useZone();
  const data = useRef<uPlot.AlignedData>([[]]);
  data.current = [times.map((ms) => ms / 1_000), ...lines.map(({ values }) => [...values])];
  const names = lines.map(({ name, tone }) => `${name} ${tone}`).join("|");
  // biome-ignore lint/correctness/useExhaustiveDependencies: another theme, zone or set of lines makes another chart; new values go into the one there is
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const made = new uPlot(optionsOf(lines, format, zone, syncKey, element.clientWidth), data.current, element);
    chart.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      chart.current = undefined;
    };
  }, [theme, zone, names, syncKey]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the values come by way of the ref
  useEffect(() => chart.current?.setData(data.current), [times, lines]);
  return <div ref={place} className="h-full w-full overflow-hidden" />;
}

function optionsOf(
  lines: readonly ChartLine[],
  format: (value: number) => string,
  zone: Zone,
  syncKey: string | undefined,
  width: number,
): uPlot.Options {
  const axis = {
    stroke: token("ink-3"),
    grid: { stroke: token("line"), width: 1 },
    ticks: { show: false },
    font: "11px Geist Variable, sans-serif",
  };
  return {
    width: Math.max(width, 50),
    height: HEIGHT,
    legend: { show: false },
    cursor: {
      ...(syncKey === undefined ? {} : { sync: { key: syncKey } }),
      drag: { x: false, y: false },
      points: { size: 6 },
    },
    scales: { y: { range: (_chart, _least, most) => [0, most > 0 ? most * 1.1 : 1] } },
    padding: [6, 12, 0, 0],
    axes: [
      {
        ...axis,
        values: (_chart, ticks) => ticks.map((seconds) => clockTime(seconds * 1_000, zone, false)),
        space: 70,
        size: 26,
      },
      { ...axis, values: (_chart, ticks) => ticks.map((value) => format(value)), size: 62, space: 26 },
    ],
    series: [
      {},
      ...lines.map(
        ({ name, tone }): uPlot.Series => ({
          label: name,
          stroke: token(tone),
          width: 1.5,
          points: { show: false },
          spanGaps: false,
        }),
      ),
    ],
  };
}
