import { useState } from "react";
import { Tabs } from "../../ui/tabs.tsx";
import { Around } from "./around.tsx";
import { LogDetail } from "./log-detail.tsx";

export default function LogTabs({ id, known, onColumn }: React.ComponentProps<typeof LogDetail>) {
  const [tab, setTab] = useState("entry");
  return (
    <Tabs
      label="Of this entry"
      value={tab}
      onChange={setTab}
      tabs={[
        { value: "entry", label: "Entry", content: <LogDetail id={id} known={known} onColumn={onColumn} /> },
        { value: "around", label: "50 around it", content: <Around id={id} /> },
      ]}
    />
  );
}
