import { createRootRoute, createRoute, createRouter, Link, lazyRouteComponent } from "@tanstack/react-router";
import { t } from "../labels/translate.ts";
import { EmptyState } from "../ui/data-region.tsx";
import { Page } from "../ui/page.tsx";
import { LoadFailure, RouteError } from "./route-error.tsx";
import { type PageName, readSearch } from "./search.ts";
import { Shell } from "./shell.tsx";

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => (
    <Page title={t`Not found`}>
      <EmptyState title={t`Page not found`}>
        <Link to="/" className="text-accent underline">
          {t`Go to the Dashboard`}
        </Link>
      </EmptyState>
    </Page>
  ),
  errorComponent: RouteError,
});

/** A route of a page: its path, its query schema and its lazily loaded code. */
function page<const Path extends string, Name extends PageName>(
  path: Path,
  name: Name,
  load: () => Promise<{ readonly default: React.ComponentType }>,
) {
  return createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: (raw: Record<string, unknown>) => readSearch(name, raw),
    // The error is wrapped because the router reloads the page for the browser's own error, even if the console does
    // not respond.
    component: lazyRouteComponent(() => load().catch((cause: unknown) => Promise.reject(new LoadFailure(cause)))),
    errorComponent: RouteError,
  });
}

const routeTree = root.addChildren([
  page("/", "dashboard", () => import("../pages/dashboard/dashboard-page.tsx")),
  page("/workers/{-$workerId}", "workers", () => import("../pages/workers/workers-page.tsx")),
  page("/functions/{-$functionId}", "functions", () => import("../pages/functions/functions-page.tsx")),
  page("/triggers/{-$triggerId}", "triggers", () => import("../pages/triggers/triggers-page.tsx")),
  page("/states/{-$group}/{-$key}", "states", () => import("../pages/states/states-page.tsx")),
  page("/streams/{-$messageId}", "streams", () => import("../pages/streams/streams-page.tsx")),
  page("/queues/{-$topic}", "queues", () => import("../pages/queues/queues-page.tsx")),
  page("/traces/{-$traceId}/{-$spanId}", "traces", () => import("../pages/traces/traces-page.tsx")),
  page("/logs/{-$logId}", "logs", () => import("../pages/logs/logs-page.tsx")),
  page("/metrics/{-$name}", "metrics", () => import("../pages/metrics/metrics-page.tsx")),
  page("/query", "query", () => import("../pages/query/query-page.tsx")),
  page("/flow/{-$flowId}", "flow", () => import("../pages/flow/flow-page.tsx")),
  page("/nodes", "nodes", () => import("../pages/nodes/nodes-page.tsx")),
  page("/config", "config", () => import("../pages/config/config-page.tsx")),
]);

export const router = createRouter({ routeTree, defaultPreload: "intent", scrollRestoration: false });

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
