// Words and signs for what was found.

/**
 * What the verdicts mean, of a race and of a deadlock, and a shape for each, so that colour is never the only difference.
 */
const VERDICTS = {
  observed: {
    meaning: "Nothing orders the two accesses in this very run.",
    deadlock: "The threads wait for each other in this very run.",
    shape: () => drawn("circle", { cx: 8, cy: 8, r: 5.5, fill: "currentColor" }),
  },
  predicted: {
    deadlock: "In a correct reordering of this run each thread waits for the next one.",
    meaning: "A correct reordering of this run brings the two accesses side by side.",
    shape: () => [
      drawn("path", { d: "M8 1.5 14.5 8 8 14.5 1.5 8Z", fill: "none", stroke: "currentColor", "stroke-width": 1.8 }),
      drawn("circle", { cx: 8, cy: 8, r: 2, fill: "currentColor" }),
    ],
  },
  possible: {
    meaning: "A reordering of this run brings the two accesses side by side, if reads that race saw what the order of the recording suggests.",
    deadlock: "In a reordering of this run each thread waits for the next one, if reads that race saw what the order of the recording suggests.",
    shape: () => drawn("path", { d: "M8 1.5 14.5 8 8 14.5 1.5 8Z", fill: "none", stroke: "currentColor", "stroke-width": 1.8, "stroke-dasharray": "3 2" }),
  },
  suspected: {
    meaning: "A locking discipline is violated. It may be harmless.",
    deadlock: "Locks are taken in different orders. Something else may keep the threads apart.",
    shape: () => drawn("path", {
      d: "M8 2.5 14 13.5H2Z", fill: "none", stroke: "currentColor", "stroke-width": 1.6, "stroke-dasharray": "2.4 1.6",
      "stroke-linejoin": "round",
    }),
  },
};

/** What a finding is called in a sentence that counts: races where there is nothing else. */
function nounOf(findings) {
  return findings.every((finding) => finding.kind === "race") ? "race" : "finding";
}

const STATUS_TITLES = { new: "New", known: "Known", suppressed: "Suppressed" };

/** The shape of a verdict. The word stands beside it, so it is hidden from screen readers. */
function verdictSign(verdict) {
  return drawn("svg", { class: `sign ${verdict}`, viewBox: "0 0 16 16", "aria-hidden": "true" }, VERDICTS[verdict].shape());
}

const DIGITS = new Intl.NumberFormat("en-US");

/** Digits in groups of three. */
function grouped(number) {
  return DIGITS.format(number);
}

function counted(number, singular, plural = `${singular}s`) {
  return `${grouped(number)} ${number === 1 ? singular : plural}`;
}

/** Sentences in which names stand between backticks. */
function prose(text) {
  return text.split("`").map((part, at) => (at % 2 === 1 ? element("code", {}, part) : part));
}

function capitalised(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Cuts the middle out of a long text. */
function shortened(text, most) {
  if (text.length <= most) return text;
  const head = Math.floor((most - 1) * 0.6);
  return `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
}

/** A path without its directories. */
function lastOf(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** `file:line`, or as much as is known; for code without debug information the module and the offset in it. */
function placeOf(frame) {
  if (frame.file) return frame.line ? `${frame.file}:${frame.line}` : frame.file;
  if (frame.module) return frame.offset ? `${frame.module}+0x${frame.offset.toString(16)}` : frame.module;
  return "";
}

/** The name of a function; one that has none goes by its place. */
function functionOf(frame) {
  if (frame.lambda && frame.line) return `lambda at ${lastOf(frame.file)}:${frame.line}`;
  return frame.function || (frame.file || frame.module ? "" : "unknown code");
}

/** The file of a frame. Traces have places instead of files; the line at the end of one is left out. */
function fileOf(frame) {
  if (!frame.file) return "";
  return frame.line ? frame.file : frame.file.replace(/:\d+(:\d+)?$/, "");
}

function threadTitle(thread) {
  if (!thread.main) return `thread ${thread.name || "without a name"}`;
  return thread.name && thread.name !== "main" ? `main thread ${thread.name}` : "main thread";
}

