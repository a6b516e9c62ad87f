import { Link } from "@tanstack/react-router";
import { useHello } from "../../app/use-hello.tsx";
import { t } from "../../labels/translate.ts";
import { useWorkers } from "../../lib/use-live.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { DataRegion } from "../../ui/data-region.tsx";
import { Ago, Timestamp } from "../../ui/time.tsx";
import { type SdkRow, sdkMismatches, sdkRows, versionMismatch } from "./model.ts";
import { Fact, Facts, type PlainColumn, PlainTable, Section, Warning } from "./section.tsx";
import { useEngineInfo } from "./use-config.ts";

const COLUMNS: readonly PlainColumn<SdkRow>[] = [
  { header: t`SDK`, cell: ({ runtime, isOurs }) => (isOurs ? runtime : t`${runtime} (other client)`) },
  {
    header: t`Version`,
    cell: ({ version }) =>
      version === null ? <span className="text-ink-3">{t`unknown`}</span> : <code>{version}</code>,
  },
  {
    header: t`Workers`,
    cell: ({ workers }) => (
      <span className="flex flex-wrap gap-x-2">
        {workers.slice(0, 8).map(({ id, name }) => (
          <Link key={id} to="/workers/{-$workerId}" params={{ workerId: id }} className="text-accent underline">
            {name}
          </Link>
        ))}
        {workers.length > 8 && <span className="text-ink-3">{t`${workers.length - 8} more`}</span>}
      </span>
    ),
  },
];

export function VersionsSection() {
  const hello = useHello();
  const { data: info, error, isPending, refetch } = useEngineInfo();
  const { workers } = useWorkers();
  const sdks = sdkRows(workers);
  const mismatch =
    info === undefined || hello === undefined
      ? undefined
      : versionMismatch(t`The console`, hello.console_version, info.version);
  return (
    <Section title={t`Versions`} description={t`Console, engine and SDK versions`}>
      {mismatch !== undefined && <Warning>{mismatch}.</Warning>}
      {info !== undefined &&
        sdkMismatches(sdks, info.version).map((sentence) => <Warning key={sentence}>{sentence}.</Warning>)}
      <Facts>
        <Fact name={t`Console`}>
          <code>{hello?.console_version ?? "…"}</code>
        </Fact>
      </Facts>
      <DataRegion loading={isPending} error={error} empty={false} emptyState={null} retry={() => void refetch()}>
        {info !== undefined && (
          <div className="-mt-3">
            <Facts>
              <Fact name={t`Engine`}>
                <code>{info.version}</code>
              </Fact>
              <Fact name={t`Protocol features`}>{info.features.join(", ")}</Fact>
              <Fact name={t`Started`}>
                <Timestamp ms={info.started_at_ms} as="date" /> (<Ago ms={info.started_at_ms} />)
              </Fact>
              <Fact name={t`Instance`}>
                <span className="inline-flex max-w-full items-center gap-1">
                  <code className="truncate">{info.instance_id}</code>
                  <CopyButton text={info.instance_id} label={t`Copy the instance ID`} className="size-6" />
                </span>
              </Fact>
              <Fact name={t`Process`}>
                <code>{info.pid}</code>
              </Fact>
              <Fact name={t`Config file`}>
                {info.config_file === null ? t`none` : <code className="break-all">{info.config_file}</code>}
              </Fact>
              <Fact name={t`Data directory`}>
                <code className="break-all">{info.data_dir}</code>
              </Fact>
              <Fact name={t`Worker logs`}>
                <code className="break-all">{info.logs_dir}</code>
              </Fact>
            </Facts>
          </div>
        )}
      </DataRegion>
      {sdks.length > 0 && (
        <div className="border-line border-t">
          <PlainTable
            label={t`SDKs of connected workers`}
            columns={COLUMNS}
            rows={sdks}
            idOf={({ runtime, version, isOurs }) => `${runtime} ${version} ${isOurs}`}
          />
        </div>
      )}
    </Section>
  );
}
