import { type PointerEvent, useState } from "react";
import { t } from "../../../labels/translate.ts";

const MIN_PERCENT = 15;
const MAX_PERCENT = 75;

/**
 * Separator between the names and the bars. It is moved by dragging or by the arrow keys. `percent` is the width of the
 * names.
 */
export function NameWidth({
  percent,
  onChange,
}: {
  readonly percent: number;
  readonly onChange: (percent: number) => void;
}) {
  const [isDragging, setDragging] = useState(false);
  const set = (next: number): void => onChange(Math.min(MAX_PERCENT, Math.max(MIN_PERCENT, next)));
  const move = (event: PointerEvent<HTMLElement>): void => {
    const row = event.currentTarget.closest('[role="row"]')?.getBoundingClientRect();
    if (isDragging && row !== undefined) set(((event.clientX - row.left) / row.width) * 100);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: an hr cannot be moved
    <span
      role="separator"
      aria-label={t`Width of the names`}
      aria-orientation="vertical"
      aria-valuenow={Math.round(percent)}
      aria-valuemin={MIN_PERCENT}
      aria-valuemax={MAX_PERCENT}
      tabIndex={0}
      className="absolute inset-y-0 -right-1 z-10 w-2 cursor-col-resize touch-none border-line border-r-2 hover:border-accent"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setDragging(true);
      }}
      onPointerMove={move}
      onPointerUp={() => setDragging(false)}
      onPointerCancel={() => setDragging(false)}
      onKeyDown={(event) => {
        const by = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
        if (by === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        set(percent + by);
      }}
    />
  );
}
