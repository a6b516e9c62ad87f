import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense } from "react";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { useHotkey } from "../../lib/hotkeys.ts";
import { EmptyState, SkeletonRows } from "../../ui/data-region.tsx";
import { Page } from "../../ui/page.tsx";
import { ConnectivitySection } from "./connectivity-section.tsx";
import { DiagnosticsButton } from "./diagnostics-button.tsx";
import { EffectiveSection } from "./effective-section.tsx";
import { FlagsSection } from "./flags-section.tsx";
import { HealthSection } from "./health-section.tsx";
import { ModulesSection } from "./modules-section.tsx";
import { PortsSection } from "./ports-section.tsx";
import { PreferencesSection } from "./preferences-section.tsx";
import { isSection, SECTIONS, type SectionId } from "./sections.ts";
import { StorageSection } from "./storage-section.tsx";
import { TelemetrySection } from "./telemetry-section.tsx";
import { VersionsSection } from "./versions-section.tsx";

const AlertsSection = lazy(() => import("./alerts/alerts-section.tsx"));
const route = getRouteApi("/config");

export default function ConfigPage() {
  const { section = "overview" } = route.useSearch();
  const navigate = route.useNavigate();
  const at = SECTIONS.findIndex(({ id }) => id === section);
  const step = (by: number): void => {
    const next = SECTIONS[(at + by + SECTIONS.length) % SECTIONS.length];
    void navigate({ search: { section: next?.id === "overview" ? undefined : next?.id } });
  };
  useHotkey("[", t`Previous section`, () => step(-1), t`Config`);
  useHotkey("]", t`Next section`, () => step(1), t`Config`);
  return (
    <Page
      title={t`Config`}
      needsEngine={false}
      controls={
        <>
          <span className="flex-1" />
          <DiagnosticsButton />
        </>
      }
    >
      <div className="flex min-h-0 flex-1 flex-col md:flex-row">
        <nav
          aria-label={t`Config sections`}
          className="flex shrink-0 gap-0.5 overflow-x-auto border-line border-b p-2 md:w-44 md:flex-col md:border-r md:border-b-0"
        >
          {SECTIONS.map(({ id, label }) => (
            <Link
              key={id}
              to="/config"
              search={id === "overview" ? {} : { section: id }}
              activeOptions={{ exact: true }}
              aria-current={id === section ? "page" : undefined}
              className="flex h-7 shrink-0 items-center rounded-md px-2.5 text-ink-2 hover:bg-hover hover:text-ink aria-[current=page]:bg-raised aria-[current=page]:font-medium aria-[current=page]:text-ink"
            >
              {label}
            </Link>
          ))}
        </nav>
        <div className="flex min-h-0 min-w-0 flex-1 flex-col gap-3 overflow-y-auto p-3">
          {isSection(section) ? CONTENT[section] : <UnknownSection section={section} />}
        </div>
      </div>
    </Page>
  );
}

const CONTENT: Readonly<Record<SectionId, ReactNode>> = {
  overview: (
    <>
      <ConnectivitySection />
      <PortsSection />
      <TelemetrySection />
      <VersionsSection />
    </>
  ),
  connectivity: <ConnectivitySection />,
  ports: <PortsSection />,
  telemetry: <TelemetrySection />,
  versions: <VersionsSection />,
  flags: <FlagsSection />,
  settings: <EffectiveSection />,
  modules: <ModulesSection />,
  health: <HealthSection />,
  storage: <StorageSection />,
  alerts: (
    <Suspense fallback={<SkeletonRows rows={6} />}>
      <AlertsSection />
    </Suspense>
  ),
  preferences: <PreferencesSection />,
};

function UnknownSection({ section }: { readonly section: string }) {
  return (
    <EmptyState title={t`Section not found`}>
      <p>{rich`The Config page has no section ${<code className="break-all">{section}</code>}.`}</p>
      <Link to="/config" className="text-accent underline">
        {t`Go to the overview`}
      </Link>
    </EmptyState>
  );
}
