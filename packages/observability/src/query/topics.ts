/** Topics of the questions between the nodes of a cluster. */
export const SPAN_QUESTIONS = "observability::spans";
export const LOG_QUESTIONS = "observability::logs";
