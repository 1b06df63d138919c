// The way from the order that happened to the witness.

/** How long the whole way takes by itself, in milliseconds. */
const SLIDE_TIME = 1600;
/** How long the player stays at either end. */
const REST_TIME = 900;

/** A schedule with its controls: the drawing, a slider if there is a witness, a legend, and the same as text. */
function scheduleView(schedule, verdict, kind) {
  const stage = createStage(schedule, verdict);
  const slides = schedule.witness.length > 0;
  const controls = slides ? sliderView(stage.setTime) : null;
  const node = element("section", { class: "schedule", "aria-labelledby": "schedule-title" },
    element("h3", { id: "schedule-title" }, scheduleTitle(kind, slides)),
    element("p", { class: "hint" }, scheduleHint(schedule, verdict, kind)),
    handOverView(schedule),
    element("div", { class: "controls" }, controls?.node, stageButtons(schedule, stage)),
    stage.node, legendView(schedule), scheduleText(schedule));
  return { node, toggle: () => controls?.toggle(), play: () => controls?.play() };
}

function scheduleTitle(kind, slides) {
  if (kind === "deadlock") return "How they come to wait for each other";
  return slides ? "How one overtakes the other" : "What happened around it";
}

function scheduleHint(schedule, verdict, kind) {
  if (schedule.witness.length === 0) {
    return verdict === "observed" && kind === "race" ? "The order of this run. Nothing in it orders the two accesses." : "The order of this run. No other order was built.";
  }
  const dropped = schedule.steps.length - schedule.witness.length;
  const rest = dropped === 0 ? "All steps take part in it." : `${counted(dropped, "step")} will not have happened yet and ${dropped === 1 ? "stays" : "stay"} as ${dropped === 1 ? "a ghost" : "ghosts"}.`;
  const end = kind === "deadlock" ? "one in which every thread waits for the next" : "one in which both accesses can happen next";
  const condition = verdict === "possible" ? " It is possible if the reads of the recording saw what the order of the recording suggests." : "";
  return `Slide from the order that happened to ${end}. ${rest}${condition}`;
}

/** Names what kept the accesses apart in the run. */
function handOverView(schedule) {
  const arrow = handOver(schedule);
  if (!arrow) return null;
  const [from, to] = [arrow.from, arrow.to].map((at) => schedule.steps[at]);
  const place = (step) => (step.place ? ` (${withoutDirectories(step.place)})` : "");
  return element("p", { class: "hand-over-note" }, "Kept apart only by the hand-over of ", element("code", {}, to.operand),
    ` from ${schedule.threads[from.thread]}${place(from)} to ${schedule.threads[to.thread]}${place(to)}.`);
}

/** Zoom, the lanes of the other threads, and all steps. */
function stageButtons(schedule, stage) {
  const others = arrangeLanes(schedule, 1000, false).others;
  const toggle = (words, change) => {
    const button = element("button", {
      type: "button", "aria-pressed": "false",
      click: () => {
        const pressed = button.getAttribute("aria-pressed") === "false";
        button.setAttribute("aria-pressed", String(pressed));
        change(pressed);
      },
    }, words);
    return button;
  };
  return element("div", { class: "stage-buttons", role: "group", "aria-label": "View of the drawing" },
    element("button", { type: "button", title: "Smaller", "aria-label": "Smaller", click: () => stage.zoom(1 / ZOOM.step) }, "−"),
    element("button", { type: "button", title: "Fit to the width", click: () => stage.zoom(0) }, "Fit"),
    element("button", { type: "button", title: "Larger", "aria-label": "Larger", click: () => stage.zoom(ZOOM.step) }, "+"),
    others > 1 && toggle(`Open ${counted(others, "other thread")}`, stage.open),
    stage.isShort() && toggle(`All ${counted(schedule.steps.length, "step")}`, stage.all));
}

function sliderView(setTime) {
  let running = 0;
  let resting = 0;
  const range = element("input", {
    type: "range", min: 0, max: 1000, value: 0, id: "slider", "aria-label": "From the order that happened to the witness",
    input: () => { stop(); moveTo(range.value / 1000); },
  });
  const happened = element("button", { type: "button", click: () => slideTo(0) }, "As it happened");
  const witness = element("button", { type: "button", click: () => slideTo(1), title: "Slide (w)" }, "As it can happen");
  const player = element("button", { type: "button", class: "play", title: "Play (p)", "aria-pressed": "false", click: () => play() }, "▶ Play");

  function moveTo(t) {
    range.value = Math.round(t * 1000);
    range.setAttribute("aria-valuetext", t === 0 ? "as it happened" : t === 1 ? "the witness" : `${Math.round(t * 100)} % of the way`);
    happened.setAttribute("aria-pressed", String(t === 0));
    witness.setAttribute("aria-pressed", String(t === 1));
    setTime(t);
  }

  function stop() {
    cancelAnimationFrame(running);
    clearTimeout(resting);
    player.textContent = "▶ Play";
    player.setAttribute("aria-pressed", "false");
  }

  function isPlaying() {
    return player.getAttribute("aria-pressed") === "true";
  }

  /** Moves to an end of the way, then does what is next. */
  function slideTo(end, next = null) {
    if (!next) stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      moveTo(end);
      return next?.();
    }
    const start = range.value / 1000;
    const began = performance.now();
    const frame = (now) => {
      const part = Math.min(1, Math.max(0, now - began) / (SLIDE_TIME * Math.max(0.2, Math.abs(end - start))));
      moveTo(between(start, end, part));
      if (part < 1) running = requestAnimationFrame(frame);
      else next?.();
    };
    running = requestAnimationFrame(frame);
  }

  /** To the witness and back, again and again, until somebody stops it or leaves. */
  function play() {
    if (isPlaying()) return stop();
    player.textContent = "❚❚ Pause";
    player.setAttribute("aria-pressed", "true");
    const round = () => slideTo(range.value < 500 ? 1 : 0, () => {
      resting = setTimeout(() => { if (player.isConnected && isPlaying()) round(); }, REST_TIME);
    });
    round();
  }

  moveTo(0);
  return {
    node: element("div", { class: "slider" }, player, happened, range, witness),
    toggle: () => slideTo(range.value < 500 ? 1 : 0),
    play,
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

/** Rows of a table of steps, at most; and columns for threads, beyond which one column names the thread. */
const TABLE = { rows: 2000, threads: 6 };

/** The same as tables, for those who cannot or do not want to read the drawing. */
function scheduleText(schedule) {
  const orders = [["As it happened", [...schedule.steps.keys()]], ["As it can happen", schedule.witness]].filter(([, order]) => order.length > 0);
  const details = element("details", { class: "aside" }, element("summary", {}, "The steps as a table"));
  details.addEventListener("toggle", () => details.append(...orders.map(([title, order]) => stepTable(schedule, title, order))), { once: true });
  return details;
}

function stepTable(schedule, title, order) {
  const wide = schedule.threads.length <= TABLE.threads;
  const heads = wide ? schedule.threads : ["Thread", "Step"];
  const row = (at) => {
    const step = schedule.steps[at];
    const letter = step.role == null ? "" : `${letterOf(roleOf(step))}: `;
    const words = [`${letter}${joined([step.operation, step.operand], " ").join("")} `, element("span", { class: "place" }, step.place)];
    const cells = wide ? schedule.threads.map((_, thread) => thread === step.thread && words) : [schedule.threads[step.thread], words];
    return element("tr", {}, cells.map((cell) => element("td", {}, cell)));
  };
  const rest = order.length - TABLE.rows;
  return element("div", { class: "scroll" },
    element("table", { class: "steps" }, element("caption", {}, title),
      element("thead", {}, element("tr", {}, heads.map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, order.slice(0, TABLE.rows).map(row))),
    rest > 0 && element("p", { class: "hint" }, `and ${counted(rest, "more step")}`));
}

