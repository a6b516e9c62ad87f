import { Clock } from "lucide-react";
import { useEffect, useState } from "react";
import { t } from "../labels/translate.ts";
import { dateTime, useZone, type Zone } from "../lib/time.ts";
import { RANGE_PRESETS, type RangeSearch, readMoment, shownRange, windowOf, writeMoment } from "../lib/time-range.ts";
import { Button } from "./button.tsx";
import { cn } from "./cn.ts";
import { PopoverButton } from "./popover.tsx";

type Preset = (typeof RANGE_PRESETS)[number]["value"];

export interface TimeRangeProps {
  /** The parameters `range`, `from` and `to` in the page's address. */
  readonly value: RangeSearch;
  /** Range that is used if the address has none, for example `15m`. */
  readonly fallback: string;
  /** Called with the new values of all three parameters. A parameter that is undefined is removed from the address. */
  readonly onChange: (next: {
    readonly range: string | undefined;
    readonly from: number | undefined;
    readonly to: number | undefined;
  }) => void;
  /** Ranges to choose from. By default, all presets. */
  readonly presets?: readonly Preset[];
  /** True if `from` and `to` can be set. Default true. */
  readonly withAbsolute?: boolean;
}

/** Selects the time range of a page: a range that moves with the clock, or two fixed times. */
export function TimeRange({ value, fallback, onChange, presets, withAbsolute = true }: TimeRangeProps) {
  const zone = useZone();
  useEffect(() => {
    if (!withAbsolute) return;
    shownRange.set({ fallback });
    return () => shownRange.set(undefined);
  }, [fallback, withAbsolute]);
  const isAbsolute = value.from !== undefined || value.to !== undefined;
  const current = value.range ?? fallback;
  const choose = (range: string): void => {
    onChange({ range: range === fallback ? undefined : range, from: undefined, to: undefined });
  };
  return (
    <PopoverButton
      icon={<Clock aria-hidden className="size-3.5" />}
      aria-label={t`Time range: ${labelOf(value, fallback, zone)}`}
      opens={{
        label: t`Time range`,
        className: "flex w-72 flex-col gap-2",
        content: (close) => (
          <>
            <div className="flex flex-col">
              {RANGE_PRESETS.filter(({ value: preset }) => presets?.includes(preset) ?? true).map((preset) => (
                <button
                  key={preset.value}
                  type="button"
                  aria-pressed={!isAbsolute && current === preset.value}
                  onClick={() => {
                    choose(preset.value);
                    close();
                  }}
                  className={cn(
                    "h-7 rounded-md px-2 text-left hover:bg-hover",
                    !isAbsolute && current === preset.value && "bg-accent-soft font-medium text-accent",
                  )}
                >
                  {preset.label}
                </button>
              ))}
            </div>
            {withAbsolute && (
              <Between
                value={value}
                fallback={fallback}
                zone={zone}
                onApply={(from, to) => {
                  onChange({ range: undefined, from, to });
                  close();
                }}
              />
            )}
          </>
        ),
      }}
    >
      <span className="max-w-[46vw] truncate">{labelOf(value, fallback, zone)}</span>
    </PopoverButton>
  );
}

function labelOf(value: RangeSearch, fallback: string, zone: Zone): string {
  const { from, to } = value;
  if (from === undefined && to === undefined) {
    const current = value.range ?? fallback;
    return RANGE_PRESETS.find((preset) => preset.value === current)?.label ?? t`Last ${current}`;
  }
  return t`${from === undefined ? t`the beginning` : dateTime(from, zone)} to ${to === undefined ? t`now` : dateTime(to, zone)}`;
}

function Between({
  value,
  fallback,
  zone,
  onApply,
}: {
  readonly value: RangeSearch;
  readonly fallback: string;
  readonly zone: Zone;
  readonly onApply: (from: number | undefined, to: number | undefined) => void;
}) {
  const [{ startMs, endMs }] = useState(() => windowOf(value, fallback, Date.now()));
  const [from, setFrom] = useState(startMs === undefined ? "" : writeMoment(startMs, zone));
  const [to, setTo] = useState(endMs === undefined ? "" : writeMoment(endMs, zone));
  const problem = problemOf(from, to, zone);
  return (
    <form
      className="flex flex-col gap-1.5 border-line border-t pt-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (problem === undefined)
          onApply(from === "" ? undefined : readMoment(from, zone), to === "" ? undefined : readMoment(to, zone));
      }}
    >
      <MomentField label={t`From`} text={from} onChange={setFrom} placeholder={t`the beginning`} />
      <MomentField label={t`To`} text={to} onChange={setTo} placeholder={t`now`} />
      <p
        className={cn("text-[11px]", problem === undefined ? "text-ink-3" : "text-danger")}
        role={problem === undefined ? undefined : "alert"}
      >
        {problem ?? t`ISO 8601 or milliseconds; without a zone ${zone === "local" ? t`local time` : zone} is meant.`}
      </p>
      <Button type="submit" look="primary" disabled={problem !== undefined || (from === "" && to === "")}>
        {t`Show this time`}
      </Button>
    </form>
  );
}

function problemOf(from: string, to: string, zone: Zone): string | undefined {
  const begin = from === "" ? undefined : readMoment(from, zone);
  const end = to === "" ? undefined : readMoment(to, zone);
  if (from !== "" && begin === undefined) return t`“From” is not a time, such as 2026-11-22T14:00:00Z`;
  if (to !== "" && end === undefined) return t`“To” is not a time, such as 2026-11-22T14:00:00Z`;
  if (begin !== undefined && end !== undefined && begin >= end) return t`“From” must be before “To”`;
  return undefined;
}

function MomentField({
  label,
  text,
  placeholder,
  onChange,
}: {
  readonly label: string;
  readonly text: string;
  readonly placeholder: string;
  readonly onChange: (text: string) => void;
}) {
  return (
    <label className="flex items-center gap-2 text-ink-2">
      <span className="w-10">{label}</span>
      <input
        value={text}
        onChange={(event) => onChange(event.target.value)}
        placeholder={placeholder}
        spellCheck={false}
        className="h-7 min-w-0 flex-1 rounded-md border border-line-strong/60 bg-surface px-2 font-mono text-[12px] text-ink placeholder:text-ink-3"
      />
    </label>
  );
}
