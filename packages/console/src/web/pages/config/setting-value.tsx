import { maskConfig } from "@svc-runtime/protocol/config-mask";
import { MASK } from "@svc-runtime/protocol/secrets";
import { useState } from "react";
import { t } from "../../labels/translate.ts";
import { Badge } from "../../ui/badge.tsx";

/**
 * An effective value. A secret is masked until the user reveals it. The engine masks secrets of its own before it sends
 * them, so these cannot be revealed.
 */
export function SettingValue({ name, value }: { readonly name: string; readonly value: unknown }) {
  const [isRevealed, setRevealed] = useState(false);
  if (value === MASK) return <span className="text-ink-3">{t`masked by the engine`}</span>;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (value === undefined || value === null || value === "")
    return <span className="text-ink-3">{value === "" ? t`empty` : t`none`}</span>;
  const isHidden = !isRevealed && JSON.stringify(maskConfig(value, name.split("."))) !== JSON.stringify(value);
  if (!isHidden) return <code className="break-all">{text}</code>;
  return (
    <span className="inline-flex items-center gap-2">
      <span className="text-ink-3">{MASK}</span>
      <button
        type="button"
        className="text-accent underline"
        aria-label={t`Reveal ${name}`}
        onClick={() => setRevealed(true)}
      >
        {t`Reveal`}
      </button>
    </span>
  );
}

/** Source of a setting. All sources except `default` are highlighted. */
export function Source({ source }: { readonly source: string | null }) {
  if (source === null) return <span className="text-ink-3">{t`unknown`}</span>;
  return <Badge tone={source === "default" ? "neutral" : "info"}>{source}</Badge>;
}
