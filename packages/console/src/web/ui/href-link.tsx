import { useRouter } from "@tanstack/react-router";
import type { ComponentProps, MouseEvent } from "react";

/**
 * A link to an address of the console. The address includes the query, and is created at run time. A click navigates
 * without a reload. For known routes, use the router's Link.
 */
export function HrefLink({ href, onClick, ...rest }: ComponentProps<"a"> & { readonly href: string }) {
  const router = useRouter();
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event);
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    event.preventDefault();
    router.history.push(href);
  };
  return <a {...rest} href={href} onClick={follow} />;
}
