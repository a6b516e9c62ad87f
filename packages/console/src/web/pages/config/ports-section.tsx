import { useHello } from "../../app/hello.tsx";
import { SkeletonRows } from "../../ui/data-region.tsx";
import { type PortRow, portRows } from "./model.ts";
import { type PlainColumn, PlainTable, Section, Warning } from "./section.tsx";
import { Source } from "./setting-value.tsx";
import { useEffectiveConfig, useProbes } from "./use-config.ts";

const COLUMNS: readonly PlainColumn<PortRow>[] = [
  {
    header: "Port of",
    cell: ({ name, purpose }) => (
      <>
        {name}
        <span className="block min-w-40 text-ink-3">{purpose}</span>
      </>
    ),
  },
  {
    header: "In effect",
    align: "right",
    cell: ({ port }) => (port === null ? <span className="text-ink-3">not known</span> : <code>{port}</code>),
  },
  { header: "Default", align: "right", cell: ({ standard }) => <code className="text-ink-2">{standard}</code> },
  { header: "From", cell: ({ source }) => <Source source={source} /> },
  {
    header: "The console looks at",
    cell: ({ lookedFor }) =>
      lookedFor === undefined ? (
        <span className="text-ink-3">–</span>
      ) : (
        <span className="inline-flex items-center gap-2">
          <code>{lookedFor.port}</code>
          <Source source={lookedFor.source} />
        </span>
      ),
  },
];

export function PortsSection() {
  const hello = useHello();
  const { data: config, error } = useEffectiveConfig();
  const { data: probes } = useProbes();
  const rows = hello === undefined ? [] : portRows(hello.settings, config?.settings ?? [], probes?.find(({ name }) => name === "console")?.url);
  const apart = rows.filter(({ port, lookedFor }) => port !== null && lookedFor !== undefined && port !== lookedFor.port);
  return (
    <Section title="Ports" description="What is in effect, and who said so">
      {error !== null && config === undefined && <Warning>What the engine listens on is not known: {error.message}.</Warning>}
      {apart.map(({ name, port, lookedFor }) => (
        <Warning key={name}>
          {name}: the engine listens on {port}, the console looks at {lookedFor?.port}. That is right only where something between them maps the one to the
          other.
        </Warning>
      ))}
      {hello === undefined ? (
        <div className="p-4">
          <SkeletonRows rows={4} />
        </div>
      ) : (
        <PlainTable label="Ports" columns={COLUMNS} rows={rows} idOf={({ name }) => name} />
      )}
    </Section>
  );
}
