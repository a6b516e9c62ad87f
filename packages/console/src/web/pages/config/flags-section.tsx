import type { ConsoleSetting } from "../../../contract/api.ts";
import { useHello } from "../../app/use-hello.tsx";
import { t } from "../../labels/translate.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { SkeletonRows } from "../../ui/data-region.tsx";
import { consoleEnv } from "./export-text.ts";
import { type PlainColumn, PlainTable, Section } from "./section.tsx";
import { SettingValue, Source } from "./setting-value.tsx";

const COLUMNS: readonly PlainColumn<ConsoleSetting>[] = [
  { header: t`Flag`, cell: ({ flag }) => <code className="whitespace-nowrap">{flag}</code> },
  { header: t`Value`, cell: ({ flag, value }) => <SettingValue name={flag} value={value} /> },
  { header: t`Source`, cell: ({ source }) => <Source source={source} /> },
  {
    header: t`Default`,
    cell: ({ default: defaultValue }) => <code className="text-ink-2">{String(defaultValue)}</code>,
  },
  {
    header: t`Variable`,
    cell: ({ env }) => (env === null ? <span className="text-ink-3">–</span> : <code>{env}</code>),
  },
];

/** Flags of this console's process. */
export function FlagsSection() {
  const hello = useHello();
  return (
    <Section
      title={t`Console flags`}
      description={t`A flag overrides its environment variable, which overrides the default`}
      controls={
        hello !== undefined && (
          <CopyButton withText text={() => consoleEnv(hello.settings)} label={t`Copy as env and command`} />
        )
      }
    >
      {hello === undefined ? (
        <div className="p-4">
          <SkeletonRows rows={6} />
        </div>
      ) : (
        <PlainTable label={t`Console flags`} columns={COLUMNS} rows={hello.settings} idOf={({ flag }) => flag} />
      )}
    </Section>
  );
}
