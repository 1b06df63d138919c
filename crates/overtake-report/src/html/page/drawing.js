// The drawing of a schedule: a lane for each thread, time downwards, critical sections as bars, arrows for what passes from step
// to step.
//
// A drawing has a time `t` from 0, the order that happened, to 1, the witness. Steps that take no part in the witness fade in the
// first part of the way, then the others move, and last the two accesses meet on one line. Everything is placed by `setTime`;
// no state is kept between two times, so that a slider may be moved at will.

const LANE = { least: 196, most: 330, gutter: 34 };
const STEP_HEIGHT = 42;
/** Room above a step for the note that events were left out. */
const OMITTED_HEIGHT = 20;
const HEAD_HEIGHT = 40;
const FOOT_HEIGHT = 22;
/** The parts of the way in which steps fade, steps move, and the race shows. */
const FADING = [0, 0.35];
const MOVING = [0.2, 0.9];
const MEETING = [0.8, 1];
/** Average width of a character relative to the font's size, of the fixed-width fonts in use. */
const CHARACTER_WIDTH = 0.605;

const ARROWS = {
  "reads-from": "a value that was written is read",
  "lock-order": "a lock that was released is taken",
  fork: "a thread is created",
  join: "a thread's end is waited for",
  wait: "a post is waited for",
};

/** Rows of both orders, as heights of the steps' centres; and how tall each order is. */
function arrange(schedule) {
  const run = heights(schedule, [...schedule.steps.keys()], false);
  if (schedule.witness.length === 0) return { run, witness: run, stays: schedule.steps.map(() => true) };
  const witness = heights(schedule, schedule.witness, true);
  const stays = schedule.steps.map((_, at) => witness.at.has(at));
  // What takes no part in the witness comes after the race, if at all.
  let below = witness.bottom;
  stays.forEach((stay, at) => {
    if (!stay) witness.at.set(at, (below += STEP_HEIGHT));
  });
  return { run, witness, stays };
}

/** Heights of steps in this order. With `meet`, the last two share a row. */
function heights(schedule, order, meet) {
  const at = new Map();
  let bottom = HEAD_HEIGHT;
  const room = (step) => (schedule.steps[step].omitted > 0 ? OMITTED_HEIGHT : 0);
  const single = meet ? order.slice(0, -2) : order;
  for (const step of single) {
    bottom += room(step) + STEP_HEIGHT;
    at.set(step, bottom - STEP_HEIGHT / 2);
  }
  const together = meet ? order.slice(-2) : [];
  bottom += together.length === 0 ? 0 : Math.max(...together.map(room)) + STEP_HEIGHT;
  for (const step of together) at.set(step, bottom - STEP_HEIGHT / 2);
  return { at, bottom };
}

/** How far `t` is on a part of the way, with a soft start and end. */
function progress([from, to], t) {
  const part = Math.min(1, Math.max(0, (t - from) / (to - from)));
  return part * part * (3 - 2 * part);
}

function between(from, to, part) {
  return from + (to - from) * part;
}

/** Makes the drawing for a width. Returns its `svg` and `setTime(t)`. */
function createDrawing(schedule, verdict, width) {
  const lanes = schedule.threads.length;
  const laneWidth = Math.min(LANE.most, Math.max(LANE.least, Math.floor(width / Math.max(1, lanes))));
  const layout = { schedule, verdict, laneWidth, ...arrange(schedule), width: laneWidth * lanes };
  layout.left = (thread) => thread * laneWidth;
  layout.axis = (thread) => thread * laneWidth + LANE.gutter;
  const parts = [
    ...schedule.threads.map((name, thread) => lanePart(layout, name, thread)),
    ...sectionParts(layout),
    ...schedule.arrows.map((arrow, at) => arrowPart(layout, arrow, at)),
    ...meetingPart(layout),
    ...schedule.steps.map((step, at) => stepPart(layout, step, at)),
  ];
  const svg = drawn("svg", {
    class: `drawing ${verdict}`, width: layout.width, role: "img",
    "aria-label": `Schedule of ${counted(lanes, "thread")} with ${counted(schedule.steps.length, "step")}`,
  }, parts.map((part) => part.node));

  function setTime(t) {
    const moved = progress(MOVING, t);
    const state = {
      gone: progress(FADING, t),
      met: progress(MEETING, t),
      bottom: between(layout.run.bottom, layout.witness.bottom, moved) + FOOT_HEIGHT,
      y: (step) => between(layout.run.at.get(step), layout.witness.at.get(step), moved),
    };
    svg.setAttribute("height", state.bottom);
    svg.setAttribute("viewBox", `0 0 ${layout.width} ${state.bottom}`);
    for (const part of parts) part.place(state);
  }
  setTime(0);
  return { svg, setTime };
}

/** The heads of all arrows, to be added to the page once; one that is not displayed would be no head to any drawing. */
function arrowHeads() {
  const head = (kind) => drawn("marker", {
    id: `head-${kind}`, class: `arrow ${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto",
  }, drawn("path", { d: "M0 0.5 8 4 0 7.5Z", fill: "currentColor", stroke: "none" }));
  return drawn("svg", { class: "drawing heads", width: 0, height: 0, "aria-hidden": "true" }, Object.keys(ARROWS).map(head));
}

function fitting(text, width, size) {
  return shortened(text, Math.max(4, Math.floor(width / (size * CHARACTER_WIDTH))));
}

function lanePart(layout, name, thread) {
  const x = layout.axis(thread);
  const line = drawn("line", { class: "lane", x1: x, x2: x, y1: HEAD_HEIGHT - 8 });
  const title = drawn("text", { class: "lane-name", x: x - 8, y: 20 }, fitting(name, layout.laneWidth - LANE.gutter, 13));
  return {
    node: drawn("g", {}, drawn("title", {}, name), line, title),
    place: ({ bottom }) => line.setAttribute("y2", bottom),
  };
}

/** Bars of critical sections; one that lies within another of its thread is narrower. */
function sectionParts(layout) {
  const { schedule } = layout;
  const locks = [...new Set(schedule.sections.map((section) => section.lock))];
  const start = (section) => section.from ?? -1;
  const end = (section) => section.to ?? schedule.steps.length;
  return schedule.sections.map((section, at) => {
    const depth = schedule.sections.filter((other, place) => place !== at && other.thread === section.thread
      && start(other) <= start(section) && end(other) >= end(section)
      && (start(other) < start(section) || end(other) > end(section) || place < at)).length;
    return sectionPart(layout, section, depth, locks.indexOf(section.lock) % 6);
  });
}

function sectionPart(layout, section, depth, colour) {
  const inset = 4 + depth * 5;
  const x = layout.left(section.thread) + inset;
  const area = drawn("rect", { class: "section", x, width: layout.laneWidth - 2 * inset, rx: 5 });
  const edge = drawn("rect", { class: "edge", x, width: 4, rx: 2 });
  const kind = section.shared ? "holds it with others" : "holds it alone";
  const node = drawn("g", { class: `lock-${colour}${section.shared ? " shared" : ""}` },
    drawn("title", {}, `${section.lock}: ${layout.schedule.threads[section.thread]} ${kind}`), area, edge);
  const stays = section.from == null || layout.stays[section.from];
  const closes = section.to != null && layout.stays[section.to];
  return {
    node,
    place: ({ y, gone, bottom }) => {
      const top = section.from == null ? HEAD_HEIGHT - 8 : y(section.from) - STEP_HEIGHT / 2 + 3;
      const closed = section.to == null ? bottom : y(section.to) + STEP_HEIGHT / 2 - 3;
      // A section that is still open when the race takes place reaches to the end of the drawing.
      const foot = Math.min(closes ? closed : between(closed, Math.max(closed, bottom), gone), bottom);
      for (const rect of [area, edge]) {
        rect.setAttribute("y", top);
        rect.setAttribute("height", Math.max(0, foot - top));
      }
      node.style.opacity = stays ? 1 : 1 - gone;
    },
  };
}

/**
 * An arrow leaves its step downwards, runs sideways between two rows, and enters the other step from the gutter left of it: no
 * label is crossed. One that the witness no longer has fades.
 */
function arrowPart(layout, arrow, at) {
  const { schedule, stays, witness } = layout;
  const path = drawn("path", { "marker-end": `url(#head-${arrow.kind})` });
  const node = drawn("g", { class: `arrow ${arrow.kind}` }, drawn("title", {}, ARROWS[arrow.kind]), path);
  const [from, to] = [arrow.from, arrow.to];
  const remains = stays[from] && stays[to] && witness.at.get(from) < witness.at.get(to);
  const x1 = layout.axis(schedule.steps[from].thread);
  const x2 = layout.axis(schedule.steps[to].thread);
  const gutter = x2 - 13 - (at % 3) * 3;
  return {
    node,
    place: ({ y, gone }) => {
      path.setAttribute("d", angular([x1, y(from) + 6], [gutter, y(to)], x2 - 8, y(from) + STEP_HEIGHT / 2 - 1 + (at % 3)));
      node.style.opacity = remains ? 1 : 1 - gone;
    },
  };
}

/** A path with round corners: down to `level`, across to the gutter, along it, and into the step at `end`. */
function angular([x, y], [gutter, target], end, level) {
  const side = Math.sign(gutter - x) || 1;
  const down = Math.sign(target - level) || 1;
  const radius = Math.min(5, Math.abs(gutter - x) / 2, Math.abs(target - level) / 2);
  return `M${x} ${y} V${level - radius} Q${x} ${level} ${x + side * radius} ${level}`
    + ` H${gutter - side * radius} Q${gutter} ${level} ${gutter} ${level + down * radius}`
    + ` V${target - down * radius} Q${gutter} ${target} ${gutter + radius} ${target} H${end}`;
}

/** What joins the two accesses: a dashed line where nothing orders them, a frame around both where they meet. */
function meetingPart(layout) {
  const { schedule } = layout;
  const pair = ["first", "second"].map((role) => schedule.steps.findIndex((step) => step.role === role));
  if (pair.includes(-1)) return [];
  const lanes = pair.map((step) => schedule.steps[step].thread);
  return [schedule.witness.length > 0 ? meetingFrame(layout, pair, lanes) : unorderedLine(layout, pair, lanes)];
}

function meetingFrame(layout, pair, lanes) {
  const left = layout.left(Math.min(...lanes)) + 1.5;
  const frame = drawn("rect", {
    class: "meeting", x: left, width: layout.left(Math.max(...lanes) + 1) - 1.5 - left, height: STEP_HEIGHT, rx: 8,
  });
  return {
    node: drawn("g", {}, drawn("title", {}, "both accesses are next, in either order"), frame),
    place: ({ y, met }) => {
      frame.setAttribute("y", (y(pair[0]) + y(pair[1])) / 2 - STEP_HEIGHT / 2);
      frame.style.opacity = met;
    },
  };
}

function unorderedLine(layout, pair, lanes) {
  const [x1, x2] = lanes.map(layout.axis);
  const line = drawn("path", { class: "unordered" });
  return {
    node: drawn("g", {}, drawn("title", {}, "nothing orders these two accesses"), line),
    place: ({ y }) => line.setAttribute("d", angular([x1, y(pair[0])], [x2 - 21, y(pair[1])], x2, y(pair[0]) + STEP_HEIGHT / 2)),
  };
}

function stepPart(layout, step, at) {
  const x = layout.axis(step.thread);
  const room = layout.laneWidth - LANE.gutter - 20;
  const words = joined([step.operation, step.operand], " ");
  const label = [
    drawn("text", { class: "operation", x: 14, y: step.place ? -3 : 4 }, fitting(words.join(""), room, 12.5)),
    step.place && drawn("text", { class: "place", x: 14, y: 12 }, fitting(withoutDirectories(step.place), room, 11)),
  ];
  const full = joined([words.join(""), step.place, `event ${grouped(step.event)}`], "\n").join("");
  const node = drawn("g", { class: `step ${step.role ?? ""}`, "data-step": at },
    drawn("title", {}, full), step.role && accessMark(layout), omittedPart(step),
    step.role ? roleMark(step.role) : drawn("circle", { class: "dot", r: 4 }), label);
  return {
    node,
    place: ({ y, gone }) => {
      node.setAttribute("transform", `translate(${x} ${y(at)})`);
      node.style.opacity = layout.stays[at] ? 1 : 1 - gone;
    },
  };
}

/** Room is short in a lane; the tooltip and the table have the whole place. */
function withoutDirectories(place) {
  return place.replace(/[^\s(]*\//g, "");
}

function accessMark(layout) {
  const width = layout.laneWidth - LANE.gutter + 10;
  return drawn("rect", { class: "highlight", x: -14, y: -STEP_HEIGHT / 2 + 3, width, height: STEP_HEIGHT - 6, rx: 6 });
}

/** The letter of an access; the first one in a disc, the second in a square. */
function roleMark(role) {
  const shape = role === "first"
    ? drawn("circle", { class: "mark", r: 9 })
    : drawn("rect", { class: "mark", x: -8.5, y: -8.5, width: 17, height: 17, rx: 3 });
  return drawn("g", {}, shape, drawn("text", { class: "letter", y: 4 }, role === "first" ? "A" : "B"));
}

function omittedPart(step) {
  if (step.omitted === 0) return null;
  const y = -STEP_HEIGHT / 2 - OMITTED_HEIGHT / 2 + 2;
  return drawn("g", { class: "omitted" },
    drawn("line", { x1: 0, x2: 0, y1: y - 9, y2: y + 9 }),
    drawn("text", { x: 14, y: y + 4 }, counted(step.omitted, "more event")));
}

