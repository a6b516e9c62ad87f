import type { UseQueryResult } from "@tanstack/react-query";
import { BellOff, CircleAlert, CircleCheck, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { plural, t } from "../../labels/translate.ts";
import type { FunctionFigures, FunctionFiguresAnswer } from "../../lib/use-function-figures.ts";
import { Button } from "../../ui/button.tsx";
import { DataRegion } from "../../ui/data-region.tsx";
import { HrefLink } from "../../ui/href-link.tsx";
import { useNow } from "../../ui/time.tsx";
import type { Issue } from "./issues.ts";
import { MUTE_MS, mutedNow, setMuted } from "./muted-issues.ts";
import { Section } from "./section.tsx";
import { useIssues } from "./use-issues.ts";

/** Issues of the system, with links to their pages. When the user mutes an issue, this browser hides it for an hour. */
export function AttentionSection({
  figures,
  ownFigures,
  rangeMs,
}: {
  readonly figures: UseQueryResult<FunctionFiguresAnswer>;
  readonly ownFigures: readonly FunctionFigures[];
  readonly rangeMs: number;
}) {
  const { issues, loaded, problems } = useIssues(figures, ownFigures, rangeMs);
  const now = useNow();
  const [, redraw] = useState(0);
  const [showsMuted, setShowsMuted] = useState(false);
  const muted = mutedNow(now);
  const shown = issues.filter(({ key }) => showsMuted || !(key in muted));
  const mutedCount = issues.filter(({ key }) => key in muted).length;
  const mute = (key: string): void => {
    setMuted(key, key in muted ? undefined : now + MUTE_MS, now);
    redraw((count) => count + 1);
  };
  return (
    <Section
      title={t`Needs attention`}
      controls={
        mutedCount > 0 && (
          <Button
            look="ghost"
            aria-pressed={showsMuted}
            className="h-6 text-[12px]"
            onClick={() => setShowsMuted(!showsMuted)}
          >
            {showsMuted ? t`Hide ${mutedCount} muted` : t`Show ${mutedCount} muted`}
          </Button>
        )
      }
    >
      <DataRegion
        loading={!loaded && issues.length === 0}
        empty={shown.length === 0}
        emptyState={
          <p className="flex items-center gap-2 py-3 text-ink-2">
            {problems.length === 0 ? (
              <CircleCheck aria-hidden className="size-4 text-ok" />
            ) : (
              <CircleAlert aria-hidden className="size-4 text-warn" />
            )}
            {problems.length === 0 ? t`No issues` : t`No issues found, but not everything could be checked`}
          </p>
        }
      >
        <ul className="flex flex-col">
          {shown.map((issue) => (
            <Row key={issue.key} issue={issue} isMuted={issue.key in muted} onMute={() => mute(issue.key)} />
          ))}
        </ul>
      </DataRegion>
      {problems.length > 0 && <p className="text-[12px] text-warn">{t`Failed to check: ${problems.join("; ")}`}</p>}
    </Section>
  );
}

function Row({
  issue: { title, detail, href, tone, effects = [] },
  isMuted,
  onMute,
}: {
  readonly issue: Issue;
  readonly isMuted: boolean;
  readonly onMute: () => void;
}) {
  const Icon = tone === "danger" ? CircleAlert : TriangleAlert;
  return (
    <li className="flex items-start gap-2 border-line/60 border-b py-1.5 last:border-b-0">
      <Icon
        aria-hidden
        className={tone === "danger" ? "mt-0.5 size-4 shrink-0 text-danger" : "mt-0.5 size-4 shrink-0 text-warn"}
      />
      <div className="min-w-0 flex-1">
        <HrefLink href={href} className="break-words font-medium hover:underline">
          {title}
        </HrefLink>
        <p className="line-clamp-2 break-words text-[12px] text-ink-2">{detail}</p>
        {effects.length > 0 && (
          <details className="text-[12px] text-ink-2">
            <summary className="min-h-6 cursor-pointer">
              {plural(effects.length, "Also affected: # issue", "Also affected: # issues")}
            </summary>
            <ul className="flex flex-col gap-1 pb-1 pl-3">
              {effects.map((effect) => (
                <li key={effect.key} className="break-words">
                  <HrefLink href={effect.href} className="font-medium hover:underline">
                    {effect.title}
                  </HrefLink>
                  : {effect.detail}
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
      <Button
        look="ghost"
        aria-label={isMuted ? t`Unmute: ${title}` : t`Mute for 1 h: ${title}`}
        title={isMuted ? t`Unmute` : t`Mute for 1 h in this browser`}
        aria-pressed={isMuted}
        onClick={onMute}
        icon={<BellOff aria-hidden className={isMuted ? "size-3.5 text-accent" : "size-3.5"} />}
      />
    </li>
  );
}
