import { getRouteApi } from "@tanstack/react-router";
import { Tabs } from "../../ui/tabs.tsx";
import { Around } from "./around.tsx";
import { LogDetail } from "./log-detail.tsx";

const route = getRouteApi("/logs/{-$logId}");

export default function LogTabs({ id, known, onColumn }: React.ComponentProps<typeof LogDetail>) {
  const { tab = "entry" } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Tabs
      label="Of this entry"
      value={tab}
      onChange={(next) => void navigate({ search: (before) => ({ ...before, tab: next === "around" ? next : undefined }), replace: true })}
      tabs={[
        { value: "entry", label: "Entry", content: <LogDetail id={id} known={known} onColumn={onColumn} /> },
        { value: "around", label: "50 around it", content: <Around id={id} /> },
      ]}
    />
  );
}
