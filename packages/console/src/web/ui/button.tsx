import type { ComponentProps, ReactNode } from "react";
import { cn } from "./cn.ts";

const LOOKS = {
  primary: "bg-accent text-accent-ink hover:opacity-95 border-transparent font-medium",
  plain: "bg-surface text-ink border-line hover:bg-hover",
  ghost: "bg-transparent text-ink-2 border-transparent hover:bg-hover hover:text-ink",
  danger: "bg-danger-soft text-danger border-danger/40 hover:border-danger font-medium",
} as const;

export interface ButtonProps extends ComponentProps<"button"> {
  readonly look?: keyof typeof LOOKS;
  readonly icon?: ReactNode;
  /** Reason why the button is disabled. It is shown as the button's title. */
  readonly disabledReason?: string | undefined;
  readonly isPending?: boolean;
}

export function Button({
  look = "plain",
  icon,
  disabledReason,
  isPending = false,
  className,
  children,
  disabled,
  title,
  ...rest
}: ButtonProps) {
  const isOff = disabled === true || disabledReason !== undefined || isPending;
  return (
    <button
      type="button"
      {...rest}
      disabled={isOff}
      aria-busy={isPending || undefined}
      title={disabledReason ?? title}
      className={cn(
        "inline-flex h-7 shrink-0 select-none items-center justify-center gap-1.5 whitespace-nowrap rounded-md border px-2.5 text-[13px] transition-colors disabled:cursor-not-allowed disabled:opacity-50",
        LOOKS[look],
        children === undefined && "w-7 px-0",
        className,
      )}
    >
      {isPending ? (
        <span aria-hidden className="size-3 animate-spin rounded-full border-2 border-current border-r-transparent" />
      ) : (
        icon
      )}
      {children}
    </button>
  );
}
