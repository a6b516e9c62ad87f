import { Page } from "../../ui/page.tsx";

export default function LogsPage() {
  return <Page title="Logs">{null}</Page>;
}
