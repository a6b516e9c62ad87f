import { type ClassValue, clsx } from "clsx";
import { twMerge } from "tailwind-merge";

/** Joins class names. If two of them conflict, the later one is used. */
export function cn(...values: ClassValue[]): string {
  return twMerge(clsx(values));
}
