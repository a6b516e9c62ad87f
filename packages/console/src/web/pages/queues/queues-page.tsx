import { Page } from "../../ui/page.tsx";

export default function QueuesPage() {
  return <Page title="Queues">{null}</Page>;
}
