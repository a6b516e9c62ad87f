import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { t } from "../../labels/translate.ts";
import { useHotkey } from "../../lib/hotkeys.ts";
import { isMissingFunction, usePolledCall } from "../../lib/use-polled-call.ts";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { ListDetail } from "../../ui/list-detail.tsx";
import { ModuleMissing } from "../../ui/module-missing.tsx";
import { Page } from "../../ui/page.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import { MetricDetail } from "./metric-detail.tsx";
import type { MetricInfo } from "./metric-info.ts";

const route = getRouteApi("/metrics/{-$name}");
const EVERY_MS = 15_000;
const NONE: readonly MetricInfo[] = [];

/** Texts for units that OpenTelemetry abbreviates. */
const UNITS: Readonly<Record<string, string>> = { "1": "–", By: t`bytes` };

const COLUMNS: readonly Column<MetricInfo>[] = [
  {
    key: "name",
    header: t`Name`,
    width: "minmax(10rem,2fr)",
    cell: ({ name }) => (
      <span className="font-medium" title={name}>
        {name}
      </span>
    ),
  },
  {
    key: "type",
    header: t`Type`,
    width: "7rem",
    from: 340,
    cell: ({ type }) => <span className="text-ink-2">{type}</span>,
  },
  {
    key: "unit",
    header: t`Unit`,
    width: "4rem",
    from: 640,
    cell: ({ unit }) => <span className="text-ink-2">{UNITS[unit] ?? unit}</span>,
  },
  {
    key: "series",
    header: t`Series`,
    width: "4rem",
    align: "right",
    from: 480,
    cell: ({ series }) => series.toLocaleString("en-GB"),
  },
  {
    key: "description",
    header: t`Description`,
    width: "minmax(8rem,3fr)",
    from: 760,
    cell: ({ description }) => (
      <span className="text-ink-2" title={description}>
        {description}
      </span>
    ),
  },
];

/** All metrics of the engine, its modules and workers, each over time. */
export default function MetricsPage() {
  const { name: selected } = route.useParams();
  const { q = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const metrics = usePolledCall<{ readonly names: readonly MetricInfo[] }>(
    "engine::metrics::list",
    ["names"],
    () => ({}),
    { everyMs: EVERY_MS },
  );
  const all = metrics.data?.names ?? NONE;
  const rows = useMemo(() => {
    const words = q
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "");
    return all.filter(({ name, description }) =>
      words.every((word) => `${name} ${description}`.toLowerCase().includes(word)),
    );
  }, [all, q]);
  const open = (name: string | undefined): void =>
    void navigate({ to: "/metrics/{-$name}", params: { name }, search: (before) => before });
  const setQ = (next: string): void =>
    void navigate({ search: (before) => ({ ...before, q: next || undefined }), replace: true });
  useHotkey(selected === undefined ? "never" : "Escape", t`Close the metric`, () => open(undefined));
  if (isMissingFunction(metrics.error)) {
    return (
      <Page title={t`Metrics`}>
        <ModuleMissing module="svc-observability" what={t`Metrics`} />
      </Page>
    );
  }
  return (
    <Page
      title={t`Metrics`}
      subject={selected}
      count={metrics.data === undefined ? undefined : rows.length}
      controls={<SearchBox label={t`Search metrics`} value={q} onChange={setQ} className="ml-auto" />}
    >
      <ListDetail
        id="metrics"
        list={
          <DataRegion
            loading={metrics.data === undefined}
            error={metrics.error}
            retry={() => void metrics.refetch()}
            empty={rows.length === 0}
            filtered={q === "" ? undefined : { what: t`No metric matches “${q}”.`, clear: () => setQ("") }}
            emptyState={
              <EmptyState title={t`No metrics yet`}>
                {t`Metrics of the engine appear within 5 s after its start.`}
              </EmptyState>
            }
          >
            <DataTable
              label={t`Metrics`}
              columns={COLUMNS}
              rows={rows}
              idOf={({ name }) => name}
              selectedId={selected}
              onSelect={({ name }) => open(name)}
            />
          </DataRegion>
        }
        title={selected ?? ""}
        onClose={() => open(undefined)}
        detail={
          selected === undefined ? undefined : (
            <MetricDetail key={selected} name={selected} info={all.find(({ name }) => name === selected)} />
          )
        }
      />
    </Page>
  );
}
