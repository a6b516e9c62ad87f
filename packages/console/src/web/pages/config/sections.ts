import { t } from "../../labels/translate.ts";
/** Sections of the page, in order. The section `overview` shows the four sections that are used most. */
export const SECTIONS = [
  { id: "overview", label: t`Overview` },
  { id: "connectivity", label: t`Connectivity` },
  { id: "ports", label: t`Ports` },
  { id: "telemetry", label: t`OpenTelemetry` },
  { id: "versions", label: t`Versions` },
  { id: "flags", label: t`Flags` },
  { id: "settings", label: t`Engine settings` },
  { id: "modules", label: t`Modules` },
  { id: "health", label: t`Health` },
  { id: "storage", label: t`Storage` },
  { id: "alerts", label: t`Alerts` },
  { id: "preferences", label: t`Preferences` },
] as const;

export type SectionId = (typeof SECTIONS)[number]["id"];

export function isSection(id: string): id is SectionId {
  return SECTIONS.some((section) => section.id === id);
}
