import { useState } from "react";
import { Badge } from "../../ui/badge.tsx";
import { isSecretSetting, redactNamed } from "./redact.ts";

/** A value in effect. A secret is not in the page until it is asked for; the engine sends its own ones only masked, and then there is nothing to reveal. */
export function SettingValue({ name, value }: { readonly name: string; readonly value: unknown }) {
  const [isRevealed, setRevealed] = useState(false);
  if (value === "***") return <span className="text-ink-3">masked by the engine</span>;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (value === undefined || value === null || value === "") return <span className="text-ink-3">{value === "" ? "empty" : "none"}</span>;
  const isHidden = !isRevealed && (isSecretSetting(name, value) || redactNamed(name, text) !== text);
  if (!isHidden) return <code className="break-all">{text}</code>;
  return (
    <span className="inline-flex items-center gap-2">
      <span className="text-ink-3">••••••</span>
      <button type="button" className="text-accent underline" aria-label={`Reveal ${name}`} onClick={() => setRevealed(true)}>
        Reveal
      </button>
    </span>
  );
}

/** Who says so: `default` is quiet, everything else somebody chose. */
export function Source({ source }: { readonly source: string | null }) {
  if (source === null) return <span className="text-ink-3">not known</span>;
  return <Badge tone={source === "default" ? "neutral" : "info"}>{source}</Badge>;
}
