import { type RefObject, useLayoutEffect, useState } from "react";

/**
 * Returns the current width of an element, in pixels. It is needed because a list is narrower than the window while a
 * detail is open beside it.
 */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(window.innerWidth);
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return;
    setWidth(current.clientWidth);
    const observer = new ResizeObserver(() => setWidth(current.clientWidth));
    observer.observe(current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
