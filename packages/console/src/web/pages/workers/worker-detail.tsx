import { getRouteApi } from "@tanstack/react-router";
import { t } from "../../labels/translate.ts";
import { Tabs } from "../../ui/tabs.tsx";
import { EventsTab } from "./events-tab.tsx";
import { FunctionsTab } from "./functions-tab.tsx";
import { LogsTab } from "./logs-tab.tsx";
import { MetricsTab } from "./metrics-tab.tsx";
import { OverviewTab } from "./overview-tab.tsx";
import { TriggersTab } from "./triggers-tab.tsx";
import type { WorkerRow } from "./worker-rows.ts";

const route = getRouteApi("/workers/{-$workerId}");

export default function WorkerDetail({ row }: { readonly row: WorkerRow }) {
  const { tab = "overview" } = route.useSearch();
  const navigate = route.useNavigate();
  const { worker } = row;
  const tabs = [
    { value: "overview", label: t`Overview`, content: <OverviewTab row={row} /> },
    ...(worker === undefined
      ? []
      : [
          { value: "metrics", label: t`Metrics`, content: <MetricsTab worker={worker} /> },
          {
            value: "functions",
            label: t`Functions`,
            count: worker.function_count,
            content: <FunctionsTab worker={worker} />,
          },
          {
            value: "triggers",
            label: t`Triggers`,
            count: worker.trigger_count,
            content: <TriggersTab worker={worker} />,
          },
          { value: "logs", label: t`Logs`, content: <LogsTab worker={worker} /> },
        ]),
    { value: "events", label: t`Events`, content: <EventsTab row={row} /> },
  ];
  return (
    <Tabs
      label={t`Details of ${row.name}`}
      tabs={tabs}
      value={tabs.some(({ value }) => value === tab) ? tab : "overview"}
      onChange={(next) =>
        void navigate({
          search: (before) => ({ ...before, tab: next === "overview" ? undefined : next }),
          replace: true,
        })
      }
    />
  );
}
