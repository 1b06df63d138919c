// The window onto a drawing: scrolls, zooms, is dragged, and keeps the accesses in view.

const ZOOM = { least: 0.4, most: 2.5, step: 1.25 };
/** The most of the window's height that a drawing takes. */
const STAGE_SHARE = 0.74;

/**
 * A stage for a schedule. `setTime(t)` shows a time, `zoom(factor)` changes the size, 0 fits the drawing to the width again;
 * `open(others)` gives every thread a lane of its own and draws all steps; `all(steps)` draws all steps or those that matter.
 */
function createStage(schedule, verdict) {
  const runway = element("div", { class: "stage-runway" });
  const node = element("div", { class: "stage", tabindex: "0", role: "group", "aria-label": "Drawing of the schedule" }, runway);
  const wanted = { opened: false, everything: schedule.steps.length <= KEY_STEPS + 2 };
  let drawing = null;
  let time = 0;
  let scale = 1;
  let width = 0;

  function build() {
    if (node.clientWidth === 0) return;
    width = node.clientWidth;
    const shown = wanted.everything || wanted.opened ? schedule : keySchedule(schedule);
    drawing = createDrawing(shown, verdict, width, wanted);
    runway.replaceChildren(drawing.svg);
    resize();
    follow();
  }

  /** The stage is as tall as the drawing at most; the drawing's size does not depend on the time. */
  function resize() {
    if (!drawing) return;
    const most = Math.max(260, Math.floor(innerHeight * STAGE_SHARE));
    node.style.height = `${Math.min(most, Math.ceil(drawing.height * scale) + 14)}px`;
    runway.style.width = `${Math.floor(drawing.width * scale)}px`;
    runway.style.height = `${Math.ceil(drawing.height * scale)}px`;
    show();
  }

  /** Draws what is in view. */
  function show() {
    if (!drawing) return;
    const [left, top] = [node.scrollLeft / scale, node.scrollTop / scale];
    const [wide, tall] = [node.clientWidth / scale, node.clientHeight / scale];
    drawing.svg.setAttribute("width", node.clientWidth);
    drawing.svg.setAttribute("height", node.clientHeight);
    drawing.svg.setAttribute("viewBox", `${left} ${top} ${wide} ${tall}`);
    drawing.show(time, { left, top, bottom: top + tall });
  }

  /** Scrolls so that the accesses are in the middle; if they are too far apart, the last of them is in view. */
  function follow() {
    if (!drawing) return;
    const heights = drawing.accessesAt(time).map((height) => height * scale);
    if (heights.length > 0) {
      const [first, last] = [Math.min(...heights), Math.max(...heights)];
      const room = node.clientHeight - 2 * STEP_HEIGHT;
      node.scrollTop = last - first <= room ? (first + last - node.clientHeight) / 2 : last + STEP_HEIGHT - node.clientHeight;
    }
    show();
  }

  function zoom(factor) {
    const middle = (node.scrollTop + node.clientHeight / 2) / scale;
    scale = factor === 0 ? 1 : Math.min(ZOOM.most, Math.max(ZOOM.least, scale * factor));
    resize();
    if (factor === 0) node.scrollLeft = 0;
    node.scrollTop = middle * scale - node.clientHeight / 2;
    show();
  }

  node.addEventListener("scroll", show, { passive: true });
  node.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? ZOOM.step : 1 / ZOOM.step);
  }, { passive: false });
  draggable(node);
  new ResizeObserver(() => { if (node.clientWidth !== width) build(); }).observe(node);
  return {
    node, zoom,
    setTime(t) {
      time = t;
      follow();
    },
    open(opened) {
      wanted.opened = opened;
      build();
    },
    all(everything) {
      wanted.everything = everything;
      build();
    },
    isShort: () => !wanted.everything,
  };
}

/** Lets a node be scrolled by dragging it. */
function draggable(node) {
  let held = null;
  node.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType !== "mouse") return;
    held = [event.clientX + node.scrollLeft, event.clientY + node.scrollTop];
    node.setPointerCapture(event.pointerId);
  });
  node.addEventListener("pointermove", (event) => {
    if (held) [node.scrollLeft, node.scrollTop] = [held[0] - event.clientX, held[1] - event.clientY];
  });
  for (const end of ["pointerup", "pointercancel"]) node.addEventListener(end, () => { held = null; });
}

