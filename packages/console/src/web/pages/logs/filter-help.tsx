import { t } from "../../labels/translate.ts";

const HELP = [
  ['timeout "out of memory"', t`words and phrases in the message or an attribute`],
  ["/time(out|d)/", t`a regular expression on the message`],
  ["error", t`entries of level error or fatal`],
  ["level:error level>=warn", t`a level, or a level and all more severe ones`],
  ["source:api -source:cron", t`entries of a source, or of all other sources`],
  ["worker:orders fn:orders::*", t`entries of a worker or a function; * stands for any text`],
  ["error and (worker:a or not worker:b*)", t`and, or, not, parentheses`],
  ["trace:4bf9… span:00f0…", t`entries of a trace or a span`],
  ["attr.http.status>=500 attr.user~ann attr.job:*", t`an attribute: comparison, substring, or presence`],
  ["resource.host.name:web-1", t`a resource attribute`],
  ["#level:error", t`a disabled filter`],
] as const;

/** Examples of the filter syntax with their meanings. */
export default function FilterHelp() {
  return (
    <dl className="grid grid-cols-[max-content_1fr] gap-x-4 gap-y-0.5 rounded-md bg-raised p-3 max-sm:grid-cols-1">
      {HELP.map(([example, meaning]) => (
        <div key={example} className="contents">
          <dt>
            <code>{example}</code>
          </dt>
          <dd className="text-ink-2">{meaning}</dd>
        </div>
      ))}
      <p className="col-span-full mt-1 text-ink-2">
        {t`Press Enter to turn filters into chips. Click a chip to disable or enable it.`}
      </p>
    </dl>
  );
}
