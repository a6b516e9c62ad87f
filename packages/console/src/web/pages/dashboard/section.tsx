import { type ReactNode, useId } from "react";

/** A section of the Dashboard with a heading. */
export function Section({
  title,
  controls,
  children,
}: {
  readonly title: string;
  readonly controls?: ReactNode;
  readonly children: ReactNode;
}) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="flex min-w-0 flex-col gap-2 rounded-lg border border-line bg-surface p-3">
      <div className="flex min-h-7 flex-wrap items-center gap-2">
        <h2 id={id} className="flex-1 font-medium">
          {title}
        </h2>
        {controls}
      </div>
      {children}
    </section>
  );
}
