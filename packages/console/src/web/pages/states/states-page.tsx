import { Page } from "../../ui/page.tsx";

export default function StatesPage() {
  return <Page title="States">{null}</Page>;
}
