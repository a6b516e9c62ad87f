import type { ReactNode } from "react";
import { t } from "../../labels/translate.ts";
import { cn } from "../../ui/cn.ts";
import { ScrollArea } from "../../ui/scroll-area.tsx";

/** A section of the page with a heading and a description. */
export function Section({
  title,
  description,
  controls,
  children,
}: {
  readonly title: string;
  readonly description?: ReactNode;
  readonly controls?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <section aria-label={title} className="min-w-0 rounded-lg border border-line bg-surface">
      <header className="flex min-h-10 flex-wrap items-center gap-x-3 gap-y-1 border-line border-b px-4 py-1.5">
        <h2 className="font-medium max-sm:flex-1">{title}</h2>
        {description !== undefined && (
          <span className="min-w-0 flex-1 basis-60 text-ink-3 max-sm:order-last max-sm:basis-full">{description}</span>
        )}
        {description === undefined && <span className="flex-1" />}
        {controls}
      </header>
      {children}
    </section>
  );
}

export interface PlainColumn<Row> {
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  readonly className?: string;
  readonly align?: "right";
}

/** A plain HTML table for short lists. It scrolls sideways if it is too wide. */
export function PlainTable<Row>({
  label,
  columns,
  rows,
  idOf,
}: {
  readonly label: string;
  readonly columns: readonly PlainColumn<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
}) {
  return (
    <ScrollArea label={t`${label}, table`}>
      <table className="w-full border-collapse" aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ header, align }) => (
              <th
                key={header}
                scope="col"
                className={cn(
                  "h-8 whitespace-nowrap px-2 font-medium text-[12px] text-ink-3 first:pl-4 last:pr-4",
                  align === "right" ? "text-right" : "text-left",
                )}
              >
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={idOf(row)} className="border-line border-t">
              {columns.map(({ header, cell, align, className }) => (
                <td
                  key={header}
                  className={cn(
                    "px-2 py-1.5 align-top first:pl-4 last:pr-4",
                    align === "right" && "text-right tabular-nums",
                    className,
                  )}
                >
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  );
}

/** A list of names and values. */
export function Facts({ children }: { readonly children: ReactNode }) {
  return <dl className="grid grid-cols-[minmax(7rem,11rem)_minmax(0,1fr)] gap-x-4 gap-y-1.5 px-4 py-3">{children}</dl>;
}

export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-2">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  );
}

/** A warning above or below the content of a section. */
export function Warning({ children }: { readonly children: ReactNode }) {
  return <p className="border-line border-t bg-warn-soft px-4 py-1.5 text-warn first:border-t-0">{children}</p>;
}
