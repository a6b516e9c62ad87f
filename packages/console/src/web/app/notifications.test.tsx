// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { createRoot } from "react-dom/client";
import { afterEach, expect, it, vi } from "vitest";
import { stubCalls } from "../lib/testing/stub-calls.ts";
import Notifications from "./notifications.tsx";

afterEach(() => {
  vi.unstubAllGlobals();
  localStorage.clear();
  document.body.replaceChildren();
});

/** Opens the list of notifications. */
async function openList() {
  const place = document.createElement("div");
  document.body.append(place);
  const root = createRoot(place);
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const router = createRouter({
    routeTree: createRootRoute({ component: Notifications }),
    history: createMemoryHistory(),
  });
  root.render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  );
  // Not within `act`: the popover also moves when the browser reports its size.
  const until = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 10_000 });
  await until(() => expect(place.querySelector("button")).not.toBeNull());
  place.querySelector("button")?.click();
  const text = (): string => document.body.textContent ?? "";
  return {
    text,
    until: (part: string) => until(() => expect(text()).toContain(part)),
    button: (name: string) => document.querySelector<HTMLButtonElement>(`button[aria-label="${name}"]`),
    close() {
      root.unmount();
      client.clear();
    },
  };
}

it("says that there are no notifications only after an answer that has none", async () => {
  stubCalls(() => ({ error: { code: "FORBIDDEN", message: "function not allowed" } }));
  const refused = await openList();
  await refused.until("function not allowed");
  expect(refused.text()).not.toContain("No notifications");
  refused.close();
  stubCalls(() => ({ data: { events: [] } }));
  const empty = await openList();
  await empty.until("No notifications");
  empty.close();
});

it("names what its buttons do", async () => {
  stubCalls(() => ({ data: { events: [{ name: "no-workers", state: "firing", timestamp: 1 }] } }));
  const { until, button, close } = await openList();
  await until("no-workers");
  expect(button("Mark as read: no-workers")?.textContent).toBe("Mark as read");
  button("Mark as read: no-workers")?.click();
  await vi.waitFor(() => expect(button("Mark as unread: no-workers")?.textContent).toBe("Mark as unread"));
  close();
});
