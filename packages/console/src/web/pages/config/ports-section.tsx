import { useHello } from "../../app/use-hello.tsx";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { useProbes } from "../../lib/use-probes.ts";
import { SkeletonRows } from "../../ui/data-region.tsx";
import { type PortRow, portRows } from "./model.ts";
import { type PlainColumn, PlainTable, Section, Warning } from "./section.tsx";
import { Source } from "./setting-value.tsx";
import { useEffectiveConfig } from "./use-config.ts";

const COLUMNS: readonly PlainColumn<PortRow>[] = [
  {
    header: t`Service`,
    cell: ({ name, purpose }) => (
      <>
        {name}
        <span className="block min-w-40 text-ink-3">{purpose}</span>
      </>
    ),
  },
  {
    header: t`Port`,
    align: "right",
    cell: ({ port }) => (port === null ? <span className="text-ink-3">{t`unknown`}</span> : <code>{port}</code>),
  },
  { header: t`Default`, align: "right", cell: ({ defaultPort }) => <code className="text-ink-2">{defaultPort}</code> },
  { header: t`Source`, cell: ({ source }) => <Source source={source} /> },
  {
    header: t`Console connects to`,
    cell: ({ expected }) =>
      expected === undefined ? (
        <span className="text-ink-3">–</span>
      ) : (
        <span className="inline-flex items-center gap-2">
          <code>{expected.port}</code>
          <Source source={expected.source} />
        </span>
      ),
  },
];

export function PortsSection() {
  const hello = useHello();
  const { data: config, error } = useEffectiveConfig();
  const { data: probes } = useProbes();
  const rows =
    hello === undefined
      ? []
      : portRows(hello.settings, config?.settings ?? [], probes?.find(({ name }) => name === "console")?.url);
  const mismatches = rows.filter(
    ({ port, expected }) => port !== null && expected !== undefined && port !== expected.port,
  );
  return (
    <Section title={t`Ports`} description={t`Effective ports and their source`}>
      {error !== null && config === undefined && (
        <Warning>{t`Failed to load the engine's ports: ${error.message}.`}</Warning>
      )}
      {mismatches.map(({ name, port, expected }) => (
        <Warning key={name}>
          {rich`${name}: the engine listens on ${String(port)}, but the console connects to ${String(expected?.port)}. This works only if a proxy or port mapping connects the two.`}
        </Warning>
      ))}
      {hello === undefined ? (
        <div className="p-4">
          <SkeletonRows rows={4} />
        </div>
      ) : (
        <PlainTable label={t`Ports`} columns={COLUMNS} rows={rows} idOf={({ name }) => name} />
      )}
    </Section>
  );
}
