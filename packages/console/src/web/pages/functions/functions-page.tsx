import { Page } from "../../ui/page.tsx";

export default function FunctionsPage() {
  return <Page title="Functions">{null}</Page>;
}
