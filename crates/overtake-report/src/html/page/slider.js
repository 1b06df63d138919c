// The way from the order that happened to the witness.

/** How long the whole way takes by itself, in milliseconds. */
const SLIDE_TIME = 1600;

/** A schedule with its controls: the drawing, a slider if there is a witness, a legend, and the same as text. */
function scheduleView(schedule, verdict) {
  const stage = element("div", { class: "stage", tabindex: "0", role: "group", "aria-label": "Drawing of the schedule" });
  let time = 0;
  let drawing = null;
  function setTime(t) {
    time = t;
    drawing?.setTime(t);
  }
  const build = () => {
    drawing = createDrawing(schedule, verdict, stage.clientWidth);
    stage.replaceChildren(drawing.svg);
    drawing.setTime(time);
  };
  let width = 0;
  new ResizeObserver(() => {
    if (stage.clientWidth === width || stage.clientWidth === 0) return;
    width = stage.clientWidth;
    build();
  }).observe(stage);
  const slides = schedule.witness.length > 0;
  const controls = slides ? sliderView(setTime) : null;
  const node = element("section", { class: "schedule", "aria-labelledby": "schedule-title" },
    element("h3", { id: "schedule-title" }, slides ? "How one overtakes the other" : "What happened around it"),
    element("p", { class: "hint" }, scheduleHint(schedule, verdict)),
    controls?.node, stage, legendView(schedule), scheduleText(schedule));
  return { node, toggle: () => controls?.toggle() };
}

function scheduleHint(schedule, verdict) {
  if (schedule.witness.length === 0) {
    return verdict === "observed" ? "The run as it was: no chain of arrows leads from one access to the other." : "The run as it was.";
  }
  const dropped = schedule.steps.length - schedule.witness.length;
  const rest = dropped === 0 ? "All steps take part in it." : `${counted(dropped, "step")} will not have happened yet and ${dropped === 1 ? "fades" : "fade"} out.`;
  return `Slide from the order that happened to one in which both accesses are next. ${rest}`;
}

function sliderView(setTime) {
  let running = 0;
  const range = element("input", {
    type: "range", min: 0, max: 1000, value: 0, id: "slider", "aria-label": "From the order that happened to the witness",
    input: () => { stop(); moveTo(range.value / 1000); },
  });
  const happened = element("button", { type: "button", click: () => slideTo(0) }, "As it happened");
  const witness = element("button", { type: "button", click: () => slideTo(1), title: "Slide (w)" }, "As it can happen");

  function moveTo(t) {
    range.value = Math.round(t * 1000);
    range.setAttribute("aria-valuetext", t === 0 ? "as it happened" : t === 1 ? "the witness" : `${Math.round(t * 100)} % of the way`);
    happened.setAttribute("aria-pressed", String(t === 0));
    witness.setAttribute("aria-pressed", String(t === 1));
    setTime(t);
  }

  function stop() {
    cancelAnimationFrame(running);
  }

  function slideTo(end) {
    stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return moveTo(end);
    const start = range.value / 1000;
    const began = performance.now();
    const frame = (now) => {
      const part = Math.min(1, Math.max(0, now - began) / (SLIDE_TIME * Math.max(0.2, Math.abs(end - start))));
      moveTo(between(start, end, part));
      if (part < 1) running = requestAnimationFrame(frame);
    };
    running = requestAnimationFrame(frame);
  }

  moveTo(0);
  return {
    node: element("div", { class: "slider" }, happened, range, witness),
    toggle: () => slideTo(range.value < 500 ? 1 : 0),
  };
}

function legendView(schedule) {
  const kinds = Object.keys(ARROWS).filter((kind) => schedule.arrows.some((arrow) => arrow.kind === kind));
  const sample = (kind) => drawn("svg", { class: "drawing", width: 34, height: 10, "aria-hidden": "true" },
    drawn("g", { class: `arrow ${kind}` }, drawn("path", { d: "M1 5H31", "marker-end": `url(#head-${kind})` })));
  return element("ul", { class: "legend" },
    kinds.map((kind) => element("li", {}, sample(kind), ARROWS[kind])),
    schedule.sections.length > 0 && element("li", {}, element("span", { class: "bar-sample", "aria-hidden": "true" }), "a lock is held"));
}

/** The same as tables, for those who cannot or do not want to read the drawing. */
function scheduleText(schedule) {
  const orders = [["As it happened", [...schedule.steps.keys()]], ["As it can happen", schedule.witness]].filter(([, order]) => order.length > 0);
  const tables = () => orders.map(([title, order]) => element("div", { class: "scroll" },
    element("table", { class: "steps" }, element("caption", {}, title),
      element("thead", {}, element("tr", {}, schedule.threads.map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, order.map((at) => stepRow(schedule, schedule.steps[at]))))));
  const details = element("details", { class: "aside" }, element("summary", {}, "The steps as a table"));
  details.addEventListener("toggle", () => details.append(...tables()), { once: true });
  return details;
}

function stepRow(schedule, step) {
  const letter = { first: "A: ", second: "B: " }[step.role] ?? "";
  return element("tr", {}, schedule.threads.map((_, thread) => element("td", {},
    thread === step.thread && [`${letter}${joined([step.operation, step.operand], " ").join("")} `, element("span", { class: "place" }, step.place)])));
}

