import { t } from "./labels/translate.ts";
import "./styles/theme.css";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { lazy, type ReactNode, StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { router } from "./app/router.tsx";
import { updateCatalogue } from "./labels/catalogue.ts";
import { live } from "./lib/live-connection.ts";
import { pageToken, styleNonce } from "./lib/page-token.ts";
import { startWorkerHistory } from "./lib/worker-history.ts";
// The search box is imported here, so that it is in the entry chunk and not in the chunk of each page that uses it.
import "./ui/search-box.tsx";

const LoginPage = lazy(() => import("./app/login-page.tsx"));

const queryClient = new QueryClient({
  defaultOptions: { queries: { retry: false, refetchOnWindowFocus: false, staleTime: 2_000 } },
});

// Radix adds a style element while a dialog is open. The library that does this reads the nonce (which the CSP
// requires) from this variable.
(globalThis as { __webpack_nonce__?: string }).__webpack_nonce__ = styleNonce;

/**
 * Returns the console's application. It must not be started without a token, because the server would reject all
 * requests.
 */
function start(): ReactNode {
  // The generation changes when the engine reconnects or has restarted. Data that was fetched before may then be out of
  // date.
  let generation = 0;
  live.onState(() => {
    const next = live.getState().generation;
    if (next === generation) return;
    generation = next;
    void queryClient.invalidateQueries();
  });
  live.start();
  startWorkerHistory();
  return (
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  );
}

// Labels are read only when the code is loaded, so another language needs a reload of the page.
void updateCatalogue().then((isChanged) => isChanged && location.reload());

const place = document.getElementById("root");
if (place === null) throw new Error(t`index.html has no #root`);
const login = (
  <Suspense>
    <LoginPage />
  </Suspense>
);
createRoot(place).render(<StrictMode>{pageToken === "" ? login : start()}</StrictMode>);
