import { t } from "../labels/translate.ts";
import { cn } from "./cn.ts";

const WIDTH = 96;
const HEIGHT = 24;

/**
 * A line through samples. With fewer than two samples, only a note is shown. `text` is the description for screen
 * readers.
 */
export function Sparkline({
  values,
  text,
  tone = "accent",
  className,
}: {
  readonly values: readonly (number | null)[];
  readonly text: string;
  readonly tone?: "accent" | "danger";
  readonly className?: string;
}) {
  // The line begins at the first known value. Otherwise a line of two points at the right end would be too short to
  // see.
  const drawn = values.slice(
    Math.max(
      0,
      values.findIndex((value) => value !== null),
    ),
  );
  const known = drawn.filter((value) => value !== null);
  if (known.length < 2) return <span className={cn("text-[11px] text-ink-3", className)}>{t`collecting`}</span>;
  const most = Math.max(...known);
  const least = Math.min(0, ...known);
  const range = most - least || 1;
  const segments: string[] = [];
  let isDrawing = false;
  for (const [at, value] of drawn.entries()) {
    if (value === null) {
      isDrawing = false;
      continue;
    }
    const x = (at / (drawn.length - 1)) * WIDTH;
    const y = HEIGHT - 2 - ((value - least) / range) * (HEIGHT - 4);
    segments.push(`${isDrawing ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`);
    isDrawing = true;
  }
  return (
    <svg
      role="img"
      aria-label={text}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      className={cn("h-6 w-24", tone === "danger" ? "text-danger" : "text-accent", className)}
    >
      <title>{text}</title>
      <path
        d={segments.join("")}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  );
}
