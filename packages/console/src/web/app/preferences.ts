import { useSyncExternalStore } from "react";
import { switchShortcuts } from "../lib/hotkeys.ts";
import { setZone } from "../lib/time.ts";

export type Theme = "light" | "dark" | "system";
export type Density = "comfortable" | "compact";

interface Preferences {
  readonly theme: Theme;
  readonly density: Density;
  readonly sidebarOpen: boolean;
}

const listeners = new Set<() => void>();
let current: Preferences = {
  theme: (localStorage.getItem("svc.theme") as Theme | null) ?? "system",
  density: (localStorage.getItem("svc.density") as Density | null) ?? "comfortable",
  sidebarOpen: localStorage.getItem("svc.sidebar") !== "closed",
};

/** Changes preferences and stores them in this browser. */
export function setPreference(change: Partial<Preferences>): void {
  current = { ...current, ...change };
  localStorage.setItem("svc.theme", current.theme);
  localStorage.setItem("svc.density", current.density);
  localStorage.setItem("svc.sidebar", current.sidebarOpen ? "open" : "closed");
  applyTheme();
  document.documentElement.dataset.density = current.density;
  for (const listener of listeners) listener();
}

/** Resets theme, density, sidebar, zone and shortcuts to their defaults. */
export function resetPreferences(): void {
  setZone("local");
  switchShortcuts(true);
  setPreference({ theme: "system", density: "comfortable", sidebarOpen: true });
}

function applyTheme(): void {
  const isDark =
    current.theme === "dark" || (current.theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);

export function usePreferences(): Preferences {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}
