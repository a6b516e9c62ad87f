import { Page } from "../../ui/page.tsx";

export default function TracesPage() {
  return <Page title="Traces">{null}</Page>;
}
