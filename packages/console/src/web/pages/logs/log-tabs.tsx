import { getRouteApi } from "@tanstack/react-router";
import { t } from "../../labels/translate.ts";
import { Tabs } from "../../ui/tabs.tsx";
import { LogDetail } from "./log-detail.tsx";
import { SurroundingEntries } from "./surrounding-entries.tsx";

const route = getRouteApi("/logs/{-$logId}");

export default function LogTabs({ id, known, onColumn }: React.ComponentProps<typeof LogDetail>) {
  const { tab = "entry" } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Tabs
      label={t`Log entry`}
      value={tab}
      onChange={(next) =>
        void navigate({ search: (before) => ({ ...before, tab: next === "around" ? next : undefined }), replace: true })
      }
      tabs={[
        { value: "entry", label: t`Entry`, content: <LogDetail id={id} known={known} onColumn={onColumn} /> },
        { value: "around", label: t`Context`, content: <SurroundingEntries id={id} /> },
      ]}
    />
  );
}
