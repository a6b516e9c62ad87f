import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { cn } from "./cn.ts";

/**
 * A region that scrolls if its content is too large. In this case it can have the focus, so that the arrow keys scroll
 * it.
 */
export function ScrollArea({
  label,
  className,
  children,
}: {
  readonly label: string;
  readonly className?: string;
  readonly children: ReactNode;
}) {
  const area = useRef<HTMLElement>(null);
  const [scrolls, setScrolls] = useState(false);
  useLayoutEffect(() => {
    const { current } = area;
    if (current === null) return;
    const measure = (): void =>
      setScrolls(current.scrollWidth > current.clientWidth || current.scrollHeight > current.clientHeight);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    for (const child of current.children) observer.observe(child);
    return () => observer.disconnect();
  }, []);
  return (
    <section
      ref={area}
      aria-label={label}
      tabIndex={scrolls ? 0 : undefined}
      className={cn("overflow-auto outline-offset-[-2px]", className)}
    >
      {children}
    </section>
  );
}
