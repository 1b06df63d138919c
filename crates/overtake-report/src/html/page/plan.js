// What a drawing shows of a schedule: which steps, and in which lanes.
//
// The threads of the accesses come first, side by side. All others share one lane until somebody opens it. Of a long schedule
// only the steps are drawn that show why the accesses can meet; the others are counted, and drawn on demand.

/** Most steps of a drawing before somebody asks for all of them: both accesses stay on one screen. */
const KEY_STEPS = 14;
const LANE = { lead: 560, other: 240, narrow: 150, strip: 52, opened: 92, gutter: 34 };

/** The steps with a role, in the order of their letters. */
function roleSteps(schedule) {
  const roles = [...schedule.steps.keys()].filter((at) => schedule.steps[at].role != null);
  return roles.sort((left, right) => roleOf(schedule.steps[left]) - roleOf(schedule.steps[right]));
}

/** Which access a step is, from 0; undefined if it is none. */
function roleOf(step) {
  return step.role == null ? undefined : { first: 0, second: 1 }[step.role] ?? step.role;
}

function letterOf(role) {
  return String.fromCharCode(65 + (role % 26));
}

/**
 * The hand-over that kept the accesses apart: the arrow of a lock whose release the witness leaves out or puts after the acquire.
 * Undefined if there is none.
 */
function handOver(schedule) {
  if (schedule.witness.length === 0) return undefined;
  const place = new Map(schedule.witness.map((step, at) => [step, at]));
  const leads = new Set(roleSteps(schedule).map((at) => schedule.steps[at].thread));
  const broken = schedule.arrows.filter(({ kind, from, to }) => kind === "lock-order" && place.has(to) && !(place.get(from) < place.get(to)));
  const ofLeads = (arrow) => [arrow.from, arrow.to].filter((at) => leads.has(schedule.steps[at].thread)).length;
  return broken.sort((left, right) => ofLeads(right) - ofLeads(left) || left.to - right.to)[0];
}

/** The schedule with the steps that matter; the others are counted as omitted events. */
function keySchedule(schedule) {
  const kept = keySteps(schedule);
  const position = new Map(kept.map((at, place) => [at, place]));
  const where = (at) => (at == null ? at : position.get(at) ?? null);
  const omitted = new Map();
  const steps = [];
  schedule.steps.forEach((step, at) => {
    const before = (omitted.get(step.thread) ?? 0) + (step.omitted ?? 0);
    if (position.has(at)) steps.push({ ...step, omitted: before });
    omitted.set(step.thread, position.has(at) ? 0 : before + 1);
  });
  return {
    threads: schedule.threads,
    hidden: schedule.steps.length - steps.length,
    steps,
    witness: schedule.witness.filter((at) => position.has(at)).map(where),
    sections: schedule.sections.map((section) => ({ ...section, from: where(section.from), to: where(section.to) }))
      .filter((section, at) => section.from != null || section.to != null || covers(schedule, schedule.sections[at], kept)),
    arrows: schedule.arrows.filter(({ from, to }) => position.has(from) && position.has(to))
      .map((arrow) => ({ ...arrow, from: where(arrow.from), to: where(arrow.to) })),
  };
}

/** Whether a section has a step of its thread between its ends. */
function covers(schedule, section, kept) {
  return kept.some((at) => schedule.steps[at].thread === section.thread
    && at > (section.from ?? -1) && at < (section.to ?? schedule.steps.length));
}

/** Positions of the steps that matter most, in order. */
function keySteps(schedule) {
  const chosen = new Set();
  const add = (steps) => {
    for (const at of steps) if (at != null && chosen.size < KEY_STEPS) chosen.add(at);
  };
  const roles = roleSteps(schedule);
  add(roles);
  const apart = handOver(schedule);
  if (apart) add([apart.from, apart.to, sectionOf(schedule, apart.from)?.from]);
  for (const role of roles) {
    const { thread } = schedule.steps[role];
    const held = schedule.sections.filter((section) => section.thread === thread && (section.from ?? -1) < role && (section.to ?? Infinity) > role);
    add(held.flatMap(({ from, to }) => [from, to]));
  }
  for (const role of roles) {
    const { thread } = schedule.steps[role];
    const own = [...schedule.steps.keys()].filter((at) => schedule.steps[at].thread === thread);
    const place = own.indexOf(role);
    add([own[place - 1], own[place + 1], own[place - 2], own[0]]);
  }
  add(schedule.arrows.filter(({ from, to }) => chosen.has(from) || chosen.has(to)).flatMap(({ from, to }) => [from, to]));
  return [...chosen].sort((left, right) => left - right);
}

function sectionOf(schedule, step) {
  return schedule.sections.find((section) => section.to === step || section.from === step);
}

/**
 * The lanes for a width, from left to right: `{ name, left, width, axis, lead, folded, strip }`, and `of`, which lane each thread
 * has. Lanes of the accesses share the room that the others leave; opened, the others may need more than there is.
 */
function arrangeLanes(schedule, width, opened) {
  const leads = [...new Set(roleSteps(schedule).map((at) => schedule.steps[at].thread))];
  const others = [...schedule.threads.keys()].filter((thread) => !leads.includes(thread));
  const folded = others.length > 1 && !opened;
  const groups = [...leads.map((thread) => [thread]), ...(folded ? [others] : others.map((thread) => [thread]))];
  const otherLanes = groups.length - leads.length;
  const otherWidth = widthOfOthers(width, leads.length, otherLanes, opened);
  const leadWidth = leads.length === 0 ? 0 : Math.max(60, Math.min(LANE.lead, Math.floor((width - (opened ? Math.min(width * 0.35, otherWidth * otherLanes) : otherWidth * otherLanes)) / leads.length)));
  let left = 0;
  const lanes = groups.map((threads, at) => {
    const lead = at < leads.length;
    const laneWidth = lead ? leadWidth : otherWidth;
    const strip = !lead && laneWidth < LANE.narrow;
    const lane = {
      name: threads.length > 1 ? counted(threads.length, "other thread") : schedule.threads[threads[0]],
      left, width: laneWidth, axis: left + (strip ? Math.min(LANE.gutter, laneWidth / 2) : LANE.gutter),
      lead, folded: threads.length > 1, strip,
    };
    left += laneWidth;
    return lane;
  });
  const of = new Map(groups.flatMap((threads, at) => threads.map((thread) => [thread, lanes[at]])));
  return { lanes, of, width: left, leadsWidth: leadWidth * leads.length, others: others.length };
}

function widthOfOthers(width, leads, lanes, opened) {
  if (lanes === 0) return 0;
  if (leads === 0) return Math.max(LANE.opened, Math.min(LANE.lead, Math.floor(width / lanes)));
  if (opened && lanes > 1) return Math.max(LANE.opened, Math.min(LANE.other, Math.floor((width * 0.45) / lanes)));
  return width / (leads + 1) < LANE.narrow + 30 ? LANE.strip : Math.min(LANE.other, Math.floor(width / (leads + 1)));
}

