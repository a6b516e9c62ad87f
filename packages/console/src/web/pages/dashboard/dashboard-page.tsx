import { Page } from "../../ui/page.tsx";

export default function DashboardPage() {
  return <Page title="Dashboard">{null}</Page>;
}
