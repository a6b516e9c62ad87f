import { Page } from "../../ui/page.tsx";

export default function TriggersPage() {
  return <Page title="Triggers">{null}</Page>;
}
