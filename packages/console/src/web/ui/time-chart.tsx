import { lazy, Suspense } from "react";
import { t } from "../labels/translate.ts";
import { cn } from "./cn.ts";
import type { TimeChartProps } from "./time-chart-impl.tsx";

const Impl = lazy(() => import("./time-chart-impl.tsx"));

/**
 * Lines over time, with a table of figures below. The code of the chart is loaded when it is first used. With fewer
 * than two samples, only a note is shown.
 */
export function TimeChart(props: TimeChartProps) {
  const { title, lines, times } = props;
  const isDrawn = times.length > 1 && lines.some(({ values }) => values.filter((value) => value !== null).length > 1);
  return (
    <section aria-label={title} className="rounded-lg border border-line bg-surface p-3">
      <h3 className="mb-1 font-medium text-ink-2">{title}</h3>
      {isDrawn ? (
        <>
          <div aria-hidden className="h-32">
            <Suspense>
              <Impl {...props} />
            </Suspense>
          </div>
          <Figures {...props} />
        </>
      ) : (
        <p className="py-4 text-ink-3">{t`Collecting: a line needs two samples, 5 s apart.`}</p>
      )}
    </section>
  );
}

const DOTS = {
  accent: "bg-accent",
  info: "bg-info",
  violet: "bg-violet",
  warn: "bg-warn",
  danger: "bg-danger",
  "service-3": "bg-(--service-3)",
} as const;

/** Class name of the columns that are hidden in a narrow window: minimum and average. */
const EXTRA = "max-sm:hidden";
const isExtra = (column: number): boolean => column === 2 || column === 3;

const FIGURE = "whitespace-nowrap pl-3 text-right align-top font-mono";

function Figures({ title, lines, format }: TimeChartProps) {
  return (
    <table className="mt-1 w-full text-[12px]">
      <caption className="sr-only">{t`${title}, in figures`}</caption>
      <thead className="text-ink-3">
        <tr>
          {[t`Line`, t`Now`, t`Minimum`, t`Average`, t`Maximum`].map((name, at) => (
            <th
              key={name}
              scope="col"
              className={cn(at === 0 ? "text-left font-normal" : "pl-3 text-right font-normal", isExtra(at) && EXTRA)}
            >
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {lines.map(({ name, tone, values }) => {
          const known = values.filter((value) => value !== null);
          const figures =
            known.length === 0
              ? []
              : [
                  known.at(-1) as number,
                  Math.min(...known),
                  known.reduce((sum, value) => sum + value, 0) / known.length,
                  Math.max(...known),
                ];
          return (
            <tr key={name}>
              <th scope="row" className="wrap-anywhere text-left font-normal">
                <span aria-hidden className={`mr-1.5 inline-block size-2 rounded-full ${DOTS[tone]}`} />
                {name}
              </th>
              {figures.length === 0 ? (
                <td colSpan={4} className="text-right text-ink-3">
                  {t`not known`}
                </td>
              ) : (
                figures.map((figure, at) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the figure's meaning is its place
                  <td key={at} className={cn(FIGURE, isExtra(at + 1) && EXTRA)}>
                    {format(figure)}
                  </td>
                ))
              )}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
