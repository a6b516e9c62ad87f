import { Page } from "../../ui/page.tsx";

export default function StreamsPage() {
  return <Page title="Streams">{null}</Page>;
}
