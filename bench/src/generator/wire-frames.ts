import { FrameTemplate } from "../frame-template.ts";

/** A call as our SDK writes it: the payload last; the default deadline is not written. */
export function callTemplate(functionId: string, data: string): FrameTemplate {
  return new FrameTemplate((id) => `{"type":"invokefunction","invocation_id":"${id}","function_id":"${functionId}","data":${data}}`);
}

/** An answer as our SDK writes it. */
export function resultTemplate(functionId: string, result: string): FrameTemplate {
  return new FrameTemplate((id) => `{"type":"invocationresult","invocation_id":"${id}","function_id":"${functionId}","result":${result}}`);
}
