import { Page } from "../../ui/page.tsx";

export default function FlowPage() {
  return <Page title="Flow">{null}</Page>;
}
