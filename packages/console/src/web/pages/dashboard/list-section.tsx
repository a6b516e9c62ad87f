import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { t } from "../../labels/translate.ts";
import { isMissingFunction } from "../../lib/use-polled-call.ts";
import { DataRegion, SkeletonRows } from "../../ui/data-region.tsx";
import { Ago } from "../../ui/time.tsx";
import { Section } from "./section.tsx";

/** Number of rows in a list. */
export const SHOWN = 5;

/** A section with a short list. Its data comes from svc-observability. */
export function ListSection<Row>({
  title,
  link,
  query: { error, isPending, refetch },
  rows,
  none,
  children,
}: {
  readonly title: string;
  /** Link to the whole list. */
  readonly link: ReactNode;
  readonly query: Pick<UseQueryResult, "error" | "isPending" | "refetch">;
  readonly rows: readonly Row[] | undefined;
  /** Text that is shown if there are no rows. */
  readonly none: string;
  readonly children: (row: Row) => ReactNode;
}) {
  return (
    <Section title={title} controls={link}>
      {isMissingFunction(error) ? (
        <p className="py-3 text-ink-2">{t`No traces are stored: the engine runs without svc-observability.`}</p>
      ) : (
        <DataRegion
          loading={isPending}
          error={error}
          empty={rows?.length === 0}
          retry={() => void refetch()}
          skeleton={<SkeletonRows rows={SHOWN} />}
          emptyState={<p className="py-3 text-ink-2">{none}</p>}
        >
          <ul className="flex flex-col">{rows?.map(children)}</ul>
        </DataRegion>
      )}
    </Section>
  );
}

/** A row that links to a trace, or to one of its spans. */
export function ListRow({
  traceId,
  spanId,
  name,
  figure,
  atMs,
  children,
}: {
  readonly traceId: string;
  readonly spanId?: string;
  readonly name: string;
  readonly figure: ReactNode;
  readonly atMs: number;
  /** Content of the second line. */
  readonly children: ReactNode;
}) {
  return (
    <li className="flex items-baseline gap-3 border-line/60 border-b py-1.5 last:border-b-0">
      <div className="min-w-0 flex-1">
        <Link
          to="/traces/{-$traceId}/{-$spanId}"
          params={{ traceId, spanId }}
          className="block min-h-6 truncate font-mono text-[12px] text-accent leading-6 hover:underline"
        >
          {name}
        </Link>
        {children}
      </div>
      {figure}
      <Ago ms={atMs} className="w-20 shrink-0 text-right text-[12px] text-ink-3" />
    </li>
  );
}
