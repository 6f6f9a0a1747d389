"use strict";
/* Pictures of networks can be enlarged: by buttons, by the wheel with Ctrl, and moved by dragging. */
document.querySelectorAll(".anbexact-figure .anbexact-network").forEach((picture) => {
  const frame = picture.parentElement, whole = picture.getAttribute("style");
  const width = Number(picture.getAttribute("width"));
  let scale = null;

  function zoom(factor, x = frame.clientWidth / 2, y = frame.clientHeight / 2) {
    const before = picture.getBoundingClientRect().width / width;
    scale = Math.min(Math.max(before * factor, 0.2), 8);
    const ratio = scale / before, left = frame.scrollLeft + x, top = frame.scrollTop + y;
    picture.style.cssText = `width:${width * scale}px;max-width:none;min-width:0;height:auto`;
    frame.classList.add("anbexact-zoomed");
    frame.scrollLeft = left * ratio - x;
    frame.scrollTop = top * ratio - y;
  }

  function reset() {
    scale = null;
    picture.setAttribute("style", whole);
    frame.classList.remove("anbexact-zoomed");
  }

  const tools = document.createElement("div");
  tools.className = "anbexact-zoom";
  for (const [text, label, act] of [["+", "Enlarge the picture", () => zoom(1.4)],
    ["−", "Reduce the picture", () => zoom(1 / 1.4)], ["whole", "Show the whole picture", reset]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.title = label;
    button.setAttribute("aria-label", label);
    button.addEventListener("click", act);
    tools.append(button);
  }
  frame.before(tools);
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const box = frame.getBoundingClientRect();
    zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  let from = null;
  frame.addEventListener("pointerdown", (event) => {
    if (scale !== null && event.button === 0) from = [event.clientX + frame.scrollLeft, event.clientY + frame.scrollTop];
  });
  window.addEventListener("pointermove", (event) => {
    if (from === null) return;
    frame.scrollLeft = from[0] - event.clientX;
    frame.scrollTop = from[1] - event.clientY;
  });
  window.addEventListener("pointerup", () => { from = null; });
});
