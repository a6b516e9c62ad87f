import { useCallback, useEffect, useState } from "react";

/**
 * Returns a function that reads a colour of the current theme by the name of its CSS variable, e.g. `--ink`. Code that
 * draws on a canvas needs it, because a canvas does not resolve CSS variables. When the theme changes, the returned
 * function changes as well, so that effects that depend on it draw again.
 */
export function useTokens(): (name: string) => string {
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const observer = new MutationObserver(() => setTheme((before) => before + 1));
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => observer.disconnect();
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new theme needs a new cache
  return useCallback(cachedReader(), [theme]);
}

function cachedReader(): (name: string) => string {
  let style: CSSStyleDeclaration | undefined;
  const known = new Map<string, string>();
  return (name) => {
    let value = known.get(name);
    if (value === undefined) {
      style ??= getComputedStyle(document.documentElement);
      value = style.getPropertyValue(name).trim();
      known.set(name, value);
    }
    return value;
  };
}
