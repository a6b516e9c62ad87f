import { durationMs } from "@svc-runtime/protocol/query";
import { ChevronsDownUp, ChevronsUpDown, Maximize, ZoomIn, ZoomOut } from "lucide-react";
import { t } from "../../../labels/translate.ts";
import type { TraceForest } from "../../../model/span-forest.ts";
import { Button } from "../../../ui/button.tsx";
import { CheckBox } from "../../../ui/check-box.tsx";
import { SearchBox } from "../../../ui/search-box.tsx";
import type { TraceSearch } from "../model/list-query.ts";
import { closedBelow } from "../model/visible-rows.ts";
import { type ViewWindow, zoomed } from "./time-window.ts";

const NONE_CLOSED: ReadonlySet<string> = new Set();
const MIN_DURATIONS = ["1ms", "10ms", "100ms", "1s", "10s"] as const;

/** Filters, expansion and zoom of the waterfall. */
export function WaterfallToolbar({
  forest,
  search,
  onSearch,
  onClosed,
  view,
  lengthMs,
  onView,
  shownText,
}: {
  readonly forest: TraceForest;
  readonly search: TraceSearch;
  readonly onSearch: (change: Partial<TraceSearch>) => void;
  readonly onClosed: (next: ReadonlySet<string>) => void;
  readonly view: ViewWindow | undefined;
  readonly lengthMs: number;
  readonly onView: (next: ViewWindow | undefined) => void;
  readonly shownText: string;
}) {
  const range = view ?? { fromMs: 0, toMs: lengthMs };
  const levels = Math.min(8, forest.depth - 1);
  return (
    <div
      role="toolbar"
      aria-label={t`Waterfall`}
      className="flex flex-wrap items-center gap-x-2 gap-y-1.5 border-line border-b bg-surface px-3 py-1.5"
    >
      <SearchBox
        label={t`Filter spans`}
        value={search.span ?? ""}
        onChange={(span) => onSearch({ span: span || undefined })}
        className="w-44"
      />
      <CheckBox
        className="h-6"
        label={t`Errors only`}
        isOn={search.errors === true}
        onChange={(errors) => onSearch({ errors: errors || undefined })}
      />
      <select
        aria-label={t`Minimum duration`}
        value={search.least === undefined ? "" : String(search.least)}
        onChange={(event) => onSearch({ least: event.target.value === "" ? undefined : Number(event.target.value) })}
        className="h-7 rounded-md border border-line bg-surface px-1.5"
      >
        <option value="">{t`Any duration`}</option>
        {MIN_DURATIONS.map((least) => (
          <option key={least} value={durationMs(least)}>
            ≥ {least}
          </option>
        ))}
        {search.least !== undefined && !MIN_DURATIONS.some((least) => durationMs(least) === search.least) && (
          <option value={search.least}>≥ {search.least} ms</option>
        )}
      </select>
      <select
        aria-label={t`Service`}
        value={search.part ?? ""}
        onChange={(event) => onSearch({ part: event.target.value || undefined })}
        className="h-7 max-w-40 rounded-md border border-line bg-surface px-1.5"
      >
        <option value="">{t`Any service`}</option>
        {[...new Set([...forest.services, ...(search.part === undefined ? [] : [search.part])])].map((service) => (
          <option key={service} value={service}>
            {service}
          </option>
        ))}
      </select>
      <CheckBox
        className="h-6"
        label={t`Critical path`}
        isOn={search.critical === true}
        onChange={(critical) => onSearch({ critical: critical || undefined })}
      />
      <span role="status" className="text-[12px] text-ink-3">
        {shownText}
      </span>
      <span className="ml-auto flex items-center gap-1">
        <Button
          look="ghost"
          aria-label={t`Expand all`}
          title={t`Expand all`}
          onClick={() => onClosed(NONE_CLOSED)}
          icon={<ChevronsUpDown aria-hidden className="size-4" />}
        />
        <Button
          look="ghost"
          aria-label={t`Collapse all`}
          title={t`Collapse all`}
          onClick={() => onClosed(closedBelow(forest, 0))}
          icon={<ChevronsDownUp aria-hidden className="size-4" />}
        />
        {levels > 1 && (
          <select
            aria-label={t`Expand to level`}
            value=""
            onChange={(event) => event.target.value !== "" && onClosed(closedBelow(forest, Number(event.target.value)))}
            className="h-7 rounded-md border border-line bg-surface px-1.5"
          >
            <option value="">{t`Level`}</option>
            {Array.from({ length: levels }, (_, at) => at + 1).map((level) => (
              <option key={level} value={level}>
                {level + 1}
              </option>
            ))}
          </select>
        )}
        <Button
          look="ghost"
          aria-label={t`Zoom in`}
          title={t`Zoom in (+)`}
          onClick={() => onView(zoomed(range, 0.5, lengthMs))}
          icon={<ZoomIn aria-hidden className="size-4" />}
        />
        <Button
          look="ghost"
          aria-label={t`Zoom out`}
          title={t`Zoom out (-)`}
          disabled={view === undefined}
          onClick={() => onView(zoomed(range, 2, lengthMs))}
          icon={<ZoomOut aria-hidden className="size-4" />}
        />
        <Button
          look="ghost"
          aria-label={t`Reset zoom`}
          title={t`Reset zoom (0)`}
          disabled={view === undefined}
          onClick={() => onView(undefined)}
          icon={<Maximize aria-hidden className="size-4" />}
        />
      </span>
    </div>
  );
}
