import { FrameTemplate } from "../frame-template.ts";

/** Returns a call as the SDK writes it: with the payload last and without the default deadline. */
export function callTemplate(functionId: string, data: string): FrameTemplate {
  return new FrameTemplate(
    (id) => `{"type":"invokefunction","invocation_id":"${id}","function_id":"${functionId}","data":${data}}`,
  );
}

/** Returns a result as the SDK writes it. */
export function resultTemplate(functionId: string, result: string): FrameTemplate {
  return new FrameTemplate(
    (id) => `{"type":"invocationresult","invocation_id":"${id}","function_id":"${functionId}","result":${result}}`,
  );
}
