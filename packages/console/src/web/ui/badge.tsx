import type { ReactNode } from "react";
import { cn } from "./cn.ts";

export type Tone = "neutral" | "ok" | "warn" | "danger" | "info" | "violet" | "accent";

const TONES: Readonly<Record<Tone, string>> = {
  neutral: "bg-raised text-ink-2",
  ok: "bg-ok-soft text-ok",
  warn: "bg-warn-soft text-warn",
  danger: "bg-danger-soft text-danger",
  info: "bg-info-soft text-info",
  violet: "bg-violet-soft text-violet",
  accent: "bg-accent-soft text-accent",
};

/** A short word in a coloured box. The colour only repeats what the word says. */
export function Badge({
  tone = "neutral",
  icon,
  className,
  title,
  children,
}: {
  tone?: Tone;
  icon?: ReactNode;
  className?: string;
  title?: string;
  children: ReactNode;
}) {
  return (
    <span
      title={title}
      className={cn(
        "inline-flex h-5 items-center gap-1 whitespace-nowrap rounded px-1.5 font-medium text-[11px]",
        TONES[tone],
        className,
      )}
    >
      {icon}
      {children}
    </span>
  );
}
