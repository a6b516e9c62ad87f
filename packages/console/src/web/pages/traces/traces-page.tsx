import { getRouteApi } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense } from "react";

const TracesList = lazy(() => import("./list/traces-list.tsx"));
const TraceDetail = lazy(() => import("./detail/trace-detail.tsx"));
const route = getRouteApi("/traces/{-$traceId}/{-$spanId}");

export default function TracesPage(): ReactNode {
  const { traceId, spanId } = route.useParams();
  return (
    <Suspense>
      {traceId === undefined ? (
        <TracesList />
      ) : (
        <TraceDetail key={traceId} traceId={traceId.toLowerCase()} spanId={spanId} />
      )}
    </Suspense>
  );
}
