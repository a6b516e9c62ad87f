import { Page } from "../../ui/page.tsx";

export default function ConfigPage() {
  return <Page title="Config">{null}</Page>;
}
