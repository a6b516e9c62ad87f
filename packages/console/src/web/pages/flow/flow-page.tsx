import { lazy, Suspense } from "react";
import { useHello } from "../../app/use-hello.tsx";
import { ENABLE_FLOW } from "../../model/example-commands.ts";
import { EmptyState, SkeletonRows } from "../../ui/data-region.tsx";
import { Page } from "../../ui/page.tsx";

const FlowView = lazy(() => import("./flow-view.tsx"));

export default function FlowPage() {
  const hello = useHello();
  if (hello === undefined) {
    return (
      <Page title="Flow">
        <div className="p-4">
          <SkeletonRows rows={6} />
        </div>
      </Page>
    );
  }
  if (!hello.flow_enabled) {
    return (
      <Page title="Flow">
        <EmptyState title="The Flow page is disabled" snippet={ENABLE_FLOW}>
          It shows triggers, functions and the resources that functions use as a graph. Start the console with{" "}
          <code>--enable-flow</code> to enable it.
        </EmptyState>
      </Page>
    );
  }
  return (
    <Suspense fallback={<Page title="Flow">{null}</Page>}>
      <FlowView />
    </Suspense>
  );
}
