import { getRouteApi } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { TraceDetail } from "./detail/trace-detail.tsx";
import { TracesList } from "./list/traces-list.tsx";

const route = getRouteApi("/traces/{-$traceId}/{-$spanId}");

export default function TracesPage(): ReactNode {
  const { traceId, spanId } = route.useParams();
  return traceId === undefined ? <TracesList /> : <TraceDetail key={traceId} traceId={traceId.toLowerCase()} spanId={spanId} />;
}
