import { lazy, Suspense } from "react";
import { useHello } from "../../app/use-hello.tsx";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { ENABLE_FLOW } from "../../model/example-commands.ts";
import { EmptyState, SkeletonRows } from "../../ui/data-region.tsx";
import { Page } from "../../ui/page.tsx";

const FlowView = lazy(() => import("./flow-view.tsx"));

export default function FlowPage() {
  const hello = useHello();
  if (hello === undefined) {
    return (
      <Page title={t`Flow`}>
        <div className="p-4">
          <SkeletonRows rows={6} />
        </div>
      </Page>
    );
  }
  if (!hello.flow_enabled) {
    return (
      <Page title={t`Flow`}>
        <EmptyState title={t`The Flow page is disabled`} snippet={ENABLE_FLOW}>
          {rich`It shows triggers, functions and the resources that functions use as a graph. Start the console with ${<code>--enable-flow</code>} to enable it.`}
        </EmptyState>
      </Page>
    );
  }
  return (
    <Suspense fallback={<Page title={t`Flow`}>{null}</Page>}>
      <FlowView />
    </Suspense>
  );
}
