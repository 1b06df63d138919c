// The list of findings. Only the rows in view exist, so that ten thousand cost no more than ten.

/** Height of a row in pixels; the style sheet takes it from here. */
const ROW_HEIGHT = 78;
/** Rows that exist beyond each edge of the view. */
const SPARE_ROWS = 6;

/**
 * Makes `root` a list box. `describe(item)` gives the children of a row; `choose(item)` is called when somebody picks one.
 * Returns `show(items)` and `mark(item)`, and `step(rows)` to move from the marked row.
 */
function createList(root, describe, choose) {
  const runway = element("div", { class: "runway", role: "presentation" });
  root.replaceChildren(runway);
  root.style.setProperty("--row", `${ROW_HEIGHT}px`);
  let items = [];
  let marked = null;
  const rows = new Map();

  function row(position) {
    const item = items[position];
    const attributes = {
      class: "row", role: "option", id: `race-${item}`,
      "aria-setsize": items.length, "aria-posinset": position + 1, "aria-selected": String(item === marked),
      click: () => choose(item),
    };
    const node = element("div", attributes, describe(item));
    node.style.top = `${position * ROW_HEIGHT}px`;
    return node;
  }

  function draw() {
    const from = Math.max(0, Math.floor(root.scrollTop / ROW_HEIGHT) - SPARE_ROWS);
    const to = Math.min(items.length, Math.ceil((root.scrollTop + root.clientHeight) / ROW_HEIGHT) + SPARE_ROWS);
    for (const [position, node] of rows) {
      if (position >= from && position < to) continue;
      node.remove();
      rows.delete(position);
    }
    for (let position = from; position < to; position++) {
      if (rows.has(position)) continue;
      rows.set(position, row(position));
      runway.append(rows.get(position));
    }
    const active = items.includes(marked) && rows.has(items.indexOf(marked));
    if (active) root.setAttribute("aria-activedescendant", `race-${marked}`);
    else root.removeAttribute("aria-activedescendant");
  }

  function redraw() {
    for (const node of rows.values()) node.remove();
    rows.clear();
    runway.style.height = `${items.length * ROW_HEIGHT}px`;
    draw();
  }

  function bringIntoView() {
    const position = items.indexOf(marked);
    if (position < 0) return;
    const top = position * ROW_HEIGHT;
    if (top < root.scrollTop) root.scrollTop = top;
    const bottom = top + ROW_HEIGHT - root.clientHeight;
    if (bottom > root.scrollTop) root.scrollTop = bottom;
  }

  function step(count) {
    if (items.length === 0) return;
    const position = items.indexOf(marked);
    const next = position < 0 ? (count > 0 ? 0 : items.length - 1) : position + count;
    choose(items[Math.min(items.length - 1, Math.max(0, next))]);
  }

  root.addEventListener("scroll", draw, { passive: true });
  new ResizeObserver(draw).observe(root);
  return {
    rowsPerView: () => Math.max(1, Math.floor(root.clientHeight / ROW_HEIGHT) - 1),
    step,
    show(shown) {
      items = shown;
      redraw();
      bringIntoView();
    },
    mark(item) {
      marked = item;
      redraw();
      bringIntoView();
    },
  };
}

