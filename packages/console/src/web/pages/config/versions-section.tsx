import { Link } from "@tanstack/react-router";
import { useHello } from "../../app/use-hello.tsx";
import { useWorkers } from "../../lib/use-live.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { DataRegion } from "../../ui/data-region.tsx";
import { Ago, Timestamp } from "../../ui/time.tsx";
import { type SdkRow, sdkMismatches, sdkRows, versionMismatch } from "./model.ts";
import { Fact, Facts, type PlainColumn, PlainTable, Section, Warning } from "./section.tsx";
import { useEngineInfo } from "./use-config.ts";

const COLUMNS: readonly PlainColumn<SdkRow>[] = [
  { header: "SDK", cell: ({ runtime, isOurs }) => (isOurs ? runtime : `${runtime} (other client)`) },
  {
    header: "Version",
    cell: ({ version }) => (version === null ? <span className="text-ink-3">unknown</span> : <code>{version}</code>),
  },
  {
    header: "Workers",
    cell: ({ workers }) => (
      <span className="flex flex-wrap gap-x-2">
        {workers.slice(0, 8).map(({ id, name }) => (
          <Link key={id} to="/workers/{-$workerId}" params={{ workerId: id }} className="text-accent underline">
            {name}
          </Link>
        ))}
        {workers.length > 8 && <span className="text-ink-3">{workers.length - 8} more</span>}
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
      : versionMismatch("The console", hello.console_version, info.version);
  return (
    <Section title="Versions" description="Console, engine and SDK versions">
      {mismatch !== undefined && <Warning>{mismatch}.</Warning>}
      {info !== undefined &&
        sdkMismatches(sdks, info.version).map((sentence) => <Warning key={sentence}>{sentence}.</Warning>)}
      <Facts>
        <Fact name="Console">
          <code>{hello?.console_version ?? "…"}</code>
        </Fact>
      </Facts>
      <DataRegion loading={isPending} error={error} empty={false} emptyState={null} retry={() => void refetch()}>
        {info !== undefined && (
          <div className="-mt-3">
            <Facts>
              <Fact name="Engine">
                <code>{info.version}</code>
              </Fact>
              <Fact name="Protocol features">{info.features.join(", ")}</Fact>
              <Fact name="Started">
                <Timestamp ms={info.started_at_ms} as="date" /> (<Ago ms={info.started_at_ms} />)
              </Fact>
              <Fact name="Instance">
                <span className="inline-flex max-w-full items-center gap-1">
                  <code className="truncate">{info.instance_id}</code>
                  <CopyButton text={info.instance_id} label="Copy the instance ID" className="size-6" />
                </span>
              </Fact>
              <Fact name="Process">
                <code>{info.pid}</code>
              </Fact>
              <Fact name="Config file">
                {info.config_file === null ? "none" : <code className="break-all">{info.config_file}</code>}
              </Fact>
              <Fact name="Data directory">
                <code className="break-all">{info.data_dir}</code>
              </Fact>
              <Fact name="Worker logs">
                <code className="break-all">{info.logs_dir}</code>
              </Fact>
            </Facts>
          </div>
        )}
      </DataRegion>
      {sdks.length > 0 && (
        <div className="border-line border-t">
          <PlainTable
            label="SDKs of connected workers"
            columns={COLUMNS}
            rows={sdks}
            idOf={({ runtime, version, isOurs }) => `${runtime} ${version} ${isOurs}`}
          />
        </div>
      )}
    </Section>
  );
}
