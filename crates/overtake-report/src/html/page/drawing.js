// The drawing of a schedule: a lane for each thread, time downwards, critical sections as bars, arrows for what passes from step
// to step. `plan.js` says which steps and lanes there are, `stage.js` shows a part of the drawing and moves it.
//
// A drawing has a time `t` from 0, the order that happened, to 1, the witness. Steps that take no part in the witness become
// ghosts in the first part of the way, then the others move, and last the accesses meet on one line. Everything is placed by
// `show`; no state is kept between two times, so that a slider may be moved at will. The height is the same at any time.
//
// Only what is in view exists. A schedule of ten thousand steps costs no more than one of fifty.

const STEP_HEIGHT = 38;
/** Room above a step for the note that events were left out. */
const OMITTED_HEIGHT = 18;
const HEAD_HEIGHT = 40;
const FOOT_HEIGHT = 14;
/** Room between the race and what is still to come after it. */
const GHOST_GAP = 26;
/** Labels with less room have the name only. */
const NARROW_LABEL = 70;
/** How much of a ghost one sees. */
const GHOST = 0.42;
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
  "waits-for": "a lock that the other thread holds is waited for",
};

/** Rows of both orders, as heights of the steps' centres; and how tall each order is. */
function arrangeRows(schedule) {
  const run = heights(schedule, [...schedule.steps.keys()], 0);
  if (schedule.witness.length === 0) return { run, witness: run, stays: schedule.steps.map(() => true) };
  const witness = heights(schedule, schedule.witness, roleSteps(schedule).length);
  const stays = schedule.steps.map((_, at) => witness.at.has(at));
  // What takes no part in the witness comes after the race, if at all.
  witness.ghosts = witness.bottom;
  if (stays.includes(false)) witness.bottom += GHOST_GAP;
  stays.forEach((stay, at) => {
    if (stay) return;
    witness.bottom += STEP_HEIGHT;
    witness.at.set(at, witness.bottom - STEP_HEIGHT / 2);
  });
  return { run, witness, stays };
}

/** Heights of steps in this order. The last `meeting` ones share a row. */
function heights(schedule, order, meeting) {
  const at = new Map();
  let bottom = HEAD_HEIGHT;
  const room = (step) => (schedule.steps[step].omitted > 0 ? OMITTED_HEIGHT : 0);
  const together = meeting > 0 ? order.slice(-meeting) : [];
  for (const step of order.slice(0, order.length - together.length)) {
    bottom += room(step) + STEP_HEIGHT;
    at.set(step, bottom - STEP_HEIGHT / 2);
  }
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

/**
 * Makes the drawing for a width. Returns its `svg` and size, where the accesses are at a time (`accessesAt(t)`), and
 * `show(t, view)`, which places everything within `view`: `{ left, top, bottom }` in the drawing's own units.
 */
function createDrawing(schedule, verdict, width, { opened = false } = {}) {
  const lanes = arrangeLanes(schedule, width, opened);
  const layout = { schedule, verdict, ...lanes, ...arrangeRows(schedule), apart: handOver(schedule), roles: roleSteps(schedule), shift: 0 };
  layout.height = Math.max(layout.run.bottom, layout.witness.bottom) + FOOT_HEIGHT;
  layout.lane = (step) => layout.of.get(schedule.steps[step].thread);
  layout.left = (lane) => lane.left + (lane.lead ? layout.shift : 0);
  layout.axis = (lane) => lane.axis + (lane.lead ? layout.shift : 0);
  const groups = ["below", "cover", "sections", "arrows", "steps", "pinnable", "heads"].map((name) => drawn("g", { class: name }));
  const group = Object.fromEntries(groups.map((node) => [node.getAttribute("class"), node]));
  const parts = [
    ...layout.lanes.map((lane) => [lane.lead ? "sections" : "below", lanePart(layout, lane)]),
    ["cover", coverPart(layout)],
    ...sectionParts(layout).map((part) => [part.lane.lead ? "sections" : "below", part]),
    ...schedule.arrows.map((arrow, at) => ["arrows", arrowPart(layout, arrow, at)]),
    ...meetingParts(layout).map((part) => ["arrows", part]),
    ...layout.lanes.filter((lane) => lane.folded && !lane.strip && schedule.hidden > 0).map((lane) => ["below", hiddenNote(layout, lane)]),
    ...schedule.steps.map((step, at) => [roleOf(step) !== undefined ? "pinnable" : layout.lane(at).lead ? "steps" : "below", stepPart(layout, step, at)]),
    // The names of the accesses' lanes cover those that are scrolled behind them.
    ...[...layout.lanes].reverse().map((lane) => ["heads", headPart(layout, lane)]),
  ];
  const svg = drawn("svg", {
    class: `drawing ${verdict}`, role: "img",
    "aria-label": `Schedule of ${counted(schedule.threads.length, "thread")} with ${counted(schedule.steps.length, "step")}`,
  }, groups);
  const heightAt = (step, moved) => between(layout.run.at.get(step), layout.witness.at.get(step), moved);

  function show(t, view) {
    const moved = progress(MOVING, t);
    layout.shift = view.left;
    const state = {
      ...view, moved, gone: progress(FADING, t), met: progress(MEETING, t),
      end: between(layout.run.bottom, layout.witness.ghosts ?? layout.witness.bottom, moved),
      y: (step) => heightAt(step, moved),
    };
    for (const [name, part] of parts) {
      const [from, to] = part.span(state);
      const inView = to >= view.top && from <= view.bottom;
      if (inView && !part.node) part.node = part.make();
      if (inView && !part.node.isConnected) group[name].append(part.node);
      if (!inView && part.node?.isConnected) part.node.remove();
      if (inView) part.place(state);
    }
  }

  return {
    svg, show, width: layout.width, height: layout.height, others: layout.others,
    accessesAt: (t) => layout.roles.map((step) => heightAt(step, progress(MOVING, t))),
  };
}

/** The heads of all arrows, to be added to the page once; one that is not displayed would be no head to any drawing. */
function arrowHeads() {
  const head = (kind) => drawn("marker", {
    id: `head-${kind}`, class: `arrow ${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto", markerUnits: "userSpaceOnUse",
  }, drawn("path", { d: "M0 0.5 8 4 0 7.5Z", fill: "currentColor", stroke: "none" }));
  return drawn("svg", { class: "drawing arrow-heads", width: 0, height: 0, "aria-hidden": "true" }, Object.keys(ARROWS).map(head));
}

function fitting(text, width, size) {
  return shortened(text, Math.max(3, Math.floor(width / (size * CHARACTER_WIDTH))));
}

const EVERYWHERE = () => [-Infinity, Infinity];

function lanePart(layout, lane) {
  const line = drawn("line", { class: lane.folded ? "lane folded-lane" : "lane", y1: 0, y2: layout.height });
  return {
    make: () => line,
    span: EVERYWHERE,
    place: () => {
      line.setAttribute("x1", layout.axis(lane));
      line.setAttribute("x2", layout.axis(lane));
    },
  };
}

/** The ground of the accesses' lanes: what is scrolled sideways disappears behind it. */
function coverPart(layout) {
  return {
    make: () => drawn("rect", { class: "ground", y: 0, width: layout.leadsWidth, height: layout.height }),
    span: EVERYWHERE,
    place() { this.node.setAttribute("x", layout.shift); },
  };
}

/** Names of lanes stay at the top of the view. */
function headPart(layout, lane) {
  const gutter = lane.axis - lane.left;
  const make = () => drawn("g", { class: "head" }, drawn("title", {}, lane.name),
    drawn("rect", { class: "ground", width: lane.width, height: HEAD_HEIGHT - 10 }),
    drawn("text", { class: "lane-name", x: lane.strip ? 2 : gutter - 8, y: 20 },
      fitting(lane.strip && lane.folded ? lane.name.replace(/^(\S+) .*/, "+$1") : lane.name, lane.width - (lane.strip ? 2 : gutter - 8), lane.strip ? 11 : 13)));
  return {
    make,
    span: EVERYWHERE,
    place({ top }) { this.node.setAttribute("transform", `translate(${layout.left(lane)} ${top})`); },
  };
}

/** Bars of critical sections; one that lies within another of its thread is narrower. */
function sectionParts(layout) {
  const { schedule } = layout;
  const locks = [...new Set(schedule.sections.map((section) => section.lock))];
  const start = (section) => section.from ?? -1;
  const end = (section) => section.to ?? schedule.steps.length;
  const open = new Map();
  const inOrder = [...schedule.sections].sort((left, right) => start(left) - start(right) || end(right) - end(left));
  return inOrder.filter((section) => layout.of.has(section.thread) && !layout.of.get(section.thread).folded).map((section) => {
    const around = (open.get(section.thread) ?? []).filter((other) => end(other) > start(section));
    open.set(section.thread, [...around, section]);
    return sectionPart(layout, section, around.length, locks.indexOf(section.lock) % 6);
  });
}

function sectionPart(layout, section, depth, colour) {
  const lane = layout.of.get(section.thread);
  const inset = Math.min(4 + depth * 5, lane.width / 2 - 6);
  const area = drawn("rect", { class: "section", width: lane.width - 2 * inset, rx: 5 });
  const edge = drawn("rect", { class: "edge", width: 4, rx: 2 });
  const kind = section.shared ? "holds it with others" : "holds it alone";
  const stays = section.from == null || layout.stays[section.from];
  const closes = section.to != null && layout.stays[section.to];
  // A thread that waits for a lock does not hold it.
  const waits = section.from != null && layout.schedule.witness.length > 0 && layout.schedule.steps[section.from].role != null;
  // A deadlock that did not happen has no releases among its steps: in the run its threads went on after their last ones.
  const wentOn = section.to == null && waitsInCircle(layout.schedule) && layout.schedule.witness.length > 0;
  const last = wentOn ? layout.schedule.steps.findLastIndex((step) => step.thread === section.thread) : section.to;
  const span = ({ y, gone, end }) => {
    const top = section.from == null ? HEAD_HEIGHT - 8 : y(section.from) - STEP_HEIGHT / 2 + 3;
    const closed = last == null ? end : y(last) + STEP_HEIGHT / 2 - 3;
    // A section that is still open when the race takes place reaches to the race, one that is overtaken moves as a whole.
    const foot = closes || !stays ? closed : between(closed, end, gone);
    return [top, Math.max(top, foot)];
  };
  return {
    lane,
    span,
    make: () => drawn("g", { class: `lock-${colour}${section.shared ? " shared" : ""}` },
      drawn("title", {}, `${section.lock}: ${layout.schedule.threads[section.thread]} ${kind}`), area, edge),
    place(state) {
      const [top, foot] = span(state);
      for (const rect of [area, edge]) {
        rect.setAttribute("x", layout.left(lane) + inset);
        rect.setAttribute("y", top);
        rect.setAttribute("height", foot - top);
      }
      this.node.style.opacity = waits ? 1 - state.gone : stays ? 1 : between(1, GHOST, state.gone);
    },
  };
}

/**
 * An arrow leaves its step downwards, runs sideways between two rows, and enters the other step from the gutter left of it: no
 * label is crossed. One that the witness no longer has fades; the hand-over that kept the accesses apart has a name. Nobody waits
 * for a lock before the threads meet, unless it was so in the run.
 */
function arrowPart(layout, arrow, at) {
  const { stays, witness } = layout;
  const [from, to] = [arrow.from, arrow.to];
  const apart = arrow === layout.apart;
  const path = drawn("path", { "marker-end": `url(#head-${arrow.kind})` });
  const name = apart && drawn("text", { class: "hand-over-name" }, handOverName(layout.schedule, arrow));
  const remains = stays[from] && stays[to] && witness.at.get(from) < witness.at.get(to);
  const appears = arrow.kind === "waits-for" && layout.schedule.witness.length > 0;
  const level = (y) => y(from) + STEP_HEIGHT / 2 - 1 + (at % 3);
  return {
    make: () => drawn("g", { class: `arrow ${arrow.kind}${apart ? " hand-over" : ""}` }, drawn("title", {}, ARROWS[arrow.kind]), path, name),
    span: ({ y }) => [Math.min(y(from), y(to)), Math.max(level(y), y(to))],
    place({ y, gone, met }) {
      const [x1, x2] = [layout.axis(layout.lane(from)), layout.axis(layout.lane(to))];
      const gutter = x2 - 13 - (at % 3) * 3;
      path.setAttribute("d", angular([x1, y(from) + 6], [gutter, y(to)], x2 - 8, level(y)));
      if (name) {
        name.setAttribute("x", Math.max(x1, gutter) - 12);
        // Left of the first step its row is empty; below the line there may be a note about more events.
        name.setAttribute("y", level(y) + (x1 > gutter ? -4 : 4));
      }
      this.node.style.opacity = appears ? met : remains ? 1 : 1 - gone;
    },
  };
}

/** `hand-over of m`. */
function handOverName(schedule, arrow) {
  return `hand-over of ${shortened(schedule.steps[arrow.to].operand, 24)}`;
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

/** What joins the accesses: a dashed line where nothing orders them, a frame around all of them where they meet. */
function meetingParts(layout) {
  if (layout.roles.length < 2) return [];
  if (layout.schedule.witness.length === 0) return layout.roles.slice(1).map((step) => unorderedLine(layout, [layout.roles[0], step]));
  return layout.stays.includes(false) ? [meetingFrame(layout), ghostNote(layout)] : [meetingFrame(layout)];
}

function meetingFrame(layout) {
  const { roles } = layout;
  const lanes = roles.map(layout.lane);
  const frame = drawn("rect", { class: "meeting", height: STEP_HEIGHT, rx: 8 });
  const middle = ({ y }) => roles.reduce((sum, step) => sum + y(step), 0) / roles.length;
  return {
    make: () => drawn("g", {}, drawn("title", {}, waitsInCircle(layout.schedule) ? "here each thread waits for the next one" : "here both accesses can happen next, in either order"), frame),
    span: (state) => [middle(state) - STEP_HEIGHT, middle(state) + STEP_HEIGHT],
    place(state) {
      const left = Math.min(...lanes.map(layout.left)) + 1.5;
      frame.setAttribute("x", left);
      frame.setAttribute("width", Math.max(...lanes.map((lane) => layout.left(lane) + lane.width)) - 1.5 - left);
      frame.setAttribute("y", middle(state) - STEP_HEIGHT / 2);
      frame.style.opacity = state.met;
    },
  };
}

/** Whether the meeting of a schedule is a deadlock. */
function waitsInCircle(schedule) {
  return schedule.arrows.some((arrow) => arrow.kind === "waits-for");
}

/** Says what the ghosts are. */
function ghostNote(layout) {
  return {
    make: () => drawn("text", { class: "ghost-note" }, "still to come when they meet:"),
    span: () => [layout.witness.ghosts, layout.witness.ghosts + GHOST_GAP],
    place({ met }) {
      this.node.setAttribute("x", layout.shift + 10);
      this.node.setAttribute("y", layout.witness.ghosts + GHOST_GAP - 8);
      this.node.style.opacity = met;
    },
  };
}

/** Says that the lane of the other threads has more steps than are drawn. */
function hiddenNote(layout, lane) {
  const steps = counted(layout.schedule.hidden, "more step");
  const room = lane.left + lane.width - lane.axis - 14;
  const words = [`${steps} not drawn`, steps].find((text) => fitting(text, room, 10.5) === text) ?? fitting(steps, room, 10.5);
  return {
    make: () => drawn("text", { class: "ghost-note", y: HEAD_HEIGHT + 12 }, words),
    span: () => [0, HEAD_HEIGHT + STEP_HEIGHT],
    place() { this.node.setAttribute("x", layout.axis(lane) + 14); },
  };
}

function unorderedLine(layout, pair) {
  const line = drawn("path", { class: "unordered" });
  return {
    make: () => drawn("g", {}, drawn("title", {}, "nothing orders these two accesses"), line),
    span: ({ y }) => [Math.min(...pair.map(y)), Math.max(...pair.map(y)) + STEP_HEIGHT],
    place({ y }) {
      const [x1, x2] = pair.map((step) => layout.axis(layout.lane(step)));
      line.setAttribute("d", angular([x1, y(pair[0])], [x2 - 21, y(pair[1])], x2, y(pair[0]) + STEP_HEIGHT / 2));
    },
  };
}

/** A step. An access that is scrolled out of view stays at the edge of it, so that both are always seen. */
function stepPart(layout, step, at) {
  const lane = layout.lane(at);
  const pins = roleOf(step) !== undefined;
  const above = layout.roles.filter((role) => role < at && layout.lane(role) === lane).length * STEP_HEIGHT;
  const inView = (height, { top, bottom }) => Math.min(Math.max(height, top + HEAD_HEIGHT + STEP_HEIGHT / 2 - 8 + above), bottom - STEP_HEIGHT / 2);
  return {
    make: () => stepNode(layout, step, at, lane),
    span: pins ? EVERYWHERE : ({ y }) => [y(at) - STEP_HEIGHT, y(at) + STEP_HEIGHT],
    place(state) {
      const { y, gone } = state;
      const height = pins ? inView(y(at), state) : y(at);
      if (pins) this.node.classList.toggle("pinned", height !== y(at));
      this.node.setAttribute("transform", `translate(${layout.axis(lane)} ${height})`);
      this.node.style.opacity = layout.stays[at] ? 1 : between(1, GHOST, gone);
    },
  };
}

function stepNode(layout, step, at, lane) {
  const room = lane.left + lane.width - lane.axis - 20;
  // Where there is no room for more, the name says most.
  const narrow = room < NARROW_LABEL;
  const spelled = joined([lane.folded && `${layout.schedule.threads[step.thread]}:`, step.operation, step.operand], " ").join("");
  const isOfLock = ["acquire", "release"].includes(step.operation) && fitting(spelled, room, 12.5) !== spelled;
  const words = (narrow || isOfLock) && step.operand ? step.operand : spelled;
  const label = !lane.strip && [
    drawn("text", { class: "operation", x: 14, y: step.place && !narrow ? -3 : 4 }, fitting(words, room, 12.5)),
    step.place && !narrow && drawn("text", { class: "place", x: 14, y: 12 }, fitting(withoutDirectories(step.place), room, 11)),
  ];
  const who = layout.schedule.threads[step.thread];
  const full = joined([who, joined([step.operation, step.operand], " ").join(""), step.place, `event ${grouped(step.event)}`], "\n").join("");
  const role = roleOf(step);
  return drawn("g", { class: joined(["step", role !== undefined && roleClass(role), !layout.stays[at] && "overtaken"], " ").join(""), "data-step": at },
    drawn("title", {}, full), role !== undefined && accessMark(lane), !lane.strip && !narrow && omittedPart(step, room),
    role !== undefined ? roleMark(role) : drawn("circle", { class: "dot", r: 4 }), label);
}

function roleClass(role) {
  return ["first", "second", "third", "fourth"][role % 4];
}

/** Room is short in a lane; the tooltip and the table have the whole place. */
function withoutDirectories(place) {
  return place.replace(/[^\s(]*\//g, "");
}

function accessMark(lane) {
  const width = lane.left + lane.width - lane.axis + 10;
  const place = { x: -14, y: -STEP_HEIGHT / 2 + 3, width, height: STEP_HEIGHT - 6, rx: 6 };
  return [drawn("rect", { class: "pin-ground", ...place }), drawn("rect", { class: "highlight", ...place })];
}

/** The letter of an access; the first one in a disc, the others in squares. */
function roleMark(role) {
  const shape = role === 0
    ? drawn("circle", { class: "mark", r: 9 })
    : drawn("rect", { class: "mark", x: -8.5, y: -8.5, width: 17, height: 17, rx: 3 });
  return drawn("g", {}, shape, drawn("text", { class: "letter", y: 4 }, letterOf(role)));
}

function omittedPart(step, room) {
  if (!step.omitted) return null;
  const y = -STEP_HEIGHT / 2 - OMITTED_HEIGHT / 2 + 2;
  return drawn("g", { class: "omitted" },
    drawn("line", { x1: 0, x2: 0, y1: y - 8, y2: y + 8 }),
    drawn("text", { x: 14, y: y + 4 }, fitting(counted(step.omitted, "more event"), room, 11)));
}

