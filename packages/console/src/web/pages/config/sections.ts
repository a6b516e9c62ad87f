/** Sections of the page, in order. `overview` shows the four most used ones. */
export const SECTIONS = [
  { id: "overview", label: "Overview" },
  { id: "connectivity", label: "Connectivity" },
  { id: "ports", label: "Ports" },
  { id: "telemetry", label: "OpenTelemetry" },
  { id: "versions", label: "Versions" },
  { id: "flags", label: "Flags" },
  { id: "settings", label: "Engine settings" },
  { id: "modules", label: "Modules" },
  { id: "health", label: "Health" },
  { id: "storage", label: "Storage" },
  { id: "alerts", label: "Alerts" },
  { id: "preferences", label: "Preferences" },
] as const;

export type SectionId = (typeof SECTIONS)[number]["id"];

export function isSection(id: string): id is SectionId {
  return SECTIONS.some((section) => section.id === id);
}
