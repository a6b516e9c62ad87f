import { type ClassValue, clsx } from "clsx";
import { twMerge } from "tailwind-merge";

/** Joins class names. A later class wins over a conflicting earlier one. */
export function cn(...values: ClassValue[]): string {
  return twMerge(clsx(values));
}
