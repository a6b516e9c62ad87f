import { useState } from "react";
import { usePlace } from "../../app/use-place.ts";
import { t } from "../../labels/translate.ts";
import { firstWorker, type Language } from "../../model/example-commands.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { FilterTabs } from "../../ui/filter-tabs.tsx";
import { ScrollArea } from "../../ui/scroll-area.tsx";
import { Section } from "./section.tsx";

/** Instructions for connecting the first worker. */
export default function ConnectSteps() {
  const [language, setLanguage] = useState<Language>("typescript");
  const place = usePlace();
  return (
    <Section
      title={t`No worker is connected yet: connect one in three steps`}
      controls={
        <FilterTabs
          label={t`Language`}
          value={language}
          onChange={setLanguage}
          tabs={[
            { value: "typescript", label: "TypeScript" },
            { value: "python", label: "Python" },
          ]}
        />
      }
    >
      <ol className="flex flex-col gap-3">
        {firstWorker(language, place).map(({ title, blocks }, at) => (
          <li key={title}>
            <h3 className="mb-1 text-ink-2">
              {at + 1}. {title}
            </h3>
            {blocks.map((code, block) => {
              const name = blocks.length === 1 ? t`step ${at + 1}` : t`step ${at + 1}, part ${block + 1}`;
              return (
                <div key={code} className="relative mb-1 rounded-md border border-line bg-raised">
                  <ScrollArea label={t`Code of ${name}`}>
                    <pre className="w-max p-3 pr-11">{code}</pre>
                  </ScrollArea>
                  <CopyButton text={code} label={t`Copy ${name}`} className="absolute top-1.5 right-1.5" />
                </div>
              );
            })}
          </li>
        ))}
      </ol>
    </Section>
  );
}
