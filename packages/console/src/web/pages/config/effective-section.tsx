import { getRouteApi } from "@tanstack/react-router";
import { t } from "../../labels/translate.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { DataRegion } from "../../ui/data-region.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import { effectiveYaml } from "./export-text.ts";
import type { Setting } from "./model.ts";
import { PlainTable, Section } from "./section.tsx";
import { SettingValue, Source } from "./setting-value.tsx";
import { useEffectiveConfig } from "./use-config.ts";

const route = getRouteApi("/config");

interface Row extends Setting {
  readonly part: string;
}

/** All effective settings of the engine and its modules, each with its source. */
export function EffectiveSection() {
  const { data, error, isPending, refetch } = useEffectiveConfig();
  const { q: wanted = "", changed: isChangedOnly = false } = route.useSearch();
  const navigate = route.useNavigate();
  const show = (change: { readonly q?: string | undefined; readonly changed?: boolean | undefined }): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  const all: readonly Row[] = [
    ...(data?.settings.filter(({ key }) => key.startsWith("engine.")) ?? []).map((setting) => ({
      ...setting,
      part: "engine",
      key: setting.key.slice(7),
    })),
    ...(data?.modules ?? []).flatMap(({ instance, settings }) =>
      settings.map((setting) => ({ ...setting, part: instance })),
    ),
  ];
  const words = wanted.toLowerCase();
  const rows = all.filter(
    ({ part, key, source }) =>
      `${part}.${key}`.toLowerCase().includes(words) && (!isChangedOnly || source !== "default"),
  );
  return (
    <Section
      title={t`Engine settings`}
      description={t`Effective values and their source`}
      controls={
        <>
          <label className="flex items-center gap-1.5 text-ink-2">
            <input
              type="checkbox"
              checked={isChangedOnly}
              onChange={(event) => show({ changed: event.target.checked || undefined })}
            />
            {t`Only changed settings`}
          </label>
          <SearchBox label={t`Search settings`} value={wanted} onChange={(q) => show({ q: q || undefined })} />
          {data !== undefined && <CopyButton withText text={() => effectiveYaml(data)} label={t`Copy as YAML`} />}
        </>
      }
    >
      <DataRegion
        loading={isPending}
        error={error}
        empty={data !== undefined && rows.length === 0}
        filtered={
          wanted === "" && !isChangedOnly
            ? undefined
            : {
                what: t`No setting matches the filters.`,
                clear: () => show({ q: undefined, changed: undefined }),
              }
        }
        emptyState={<p className="p-4 text-ink-2">{t`The engine reported no settings.`}</p>}
        retry={() => void refetch()}
      >
        <PlainTable
          label={t`Engine settings`}
          rows={rows}
          idOf={({ part, key }) => `${part}.${key}`}
          columns={[
            { header: t`Component`, cell: ({ part }) => <span className="whitespace-nowrap text-ink-2">{part}</span> },
            { header: t`Setting`, cell: ({ key }) => <code>{key}</code> },
            {
              header: t`Value`,
              cell: ({ key, value }) => <SettingValue name={key} value={value} />,
              className: "min-w-48",
            },
            { header: t`Source`, cell: ({ source }) => <Source source={source} /> },
          ]}
        />
      </DataRegion>
    </Section>
  );
}
