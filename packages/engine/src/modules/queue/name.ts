/** Of the module. */
export const NAME = "svc-queue";
