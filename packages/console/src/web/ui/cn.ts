import { type ClassValue, clsx } from "clsx";
import { twMerge } from "tailwind-merge";

/** Joins class names; of two that contradict each other the later one stands. */
export function cn(...values: ClassValue[]): string {
  return twMerge(clsx(values));
}
