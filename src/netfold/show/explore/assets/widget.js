/** The explorer in the cell of a notebook: a frame that sees nothing of it, and questions that go to the kernel. */
export default {
  render({ model, el }) {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts allow-downloads");
    frame.title = "netfold explorer";
    Object.assign(frame.style, { width: "100%", height: "760px", border: "0" });
    frame.srcdoc = model.get("page");
    const ask = ({ source, data }) => {
      if (source === frame.contentWindow && data?.netfold) model.send(data);
    };
    const answer = (content, buffers) => {
      const [view] = buffers ?? [];
      const bytes = view && view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
      frame.contentWindow?.postMessage(bytes ? { ...content, bytes } : content, "*");
    };
    window.addEventListener("message", ask);
    model.on("msg:custom", answer);
    el.append(frame);
    return () => {
      window.removeEventListener("message", ask);
      model.off("msg:custom", answer);
    };
  },
};
