// Search, and the table of contents on narrow screens. The book reads well without it.
"use strict";

const field = document.getElementById("search");
const found = document.getElementById("found");
const contents = document.getElementById("contents");

function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.replaceChildren();
  found.hidden = words.length === 0;
  contents.hidden = words.length !== 0;
  if (words.length === 0) return;
  const hits = [];
  for (const [place, chapter, heading, text] of SECTIONS) {
    const title = `${chapter} ${heading}`.toLowerCase();
    const all = `${title} ${text}`.toLowerCase();
    if (words.every((word) => all.includes(word))) {
      const inTitle = words.filter((word) => title.includes(word)).length;
      hits.push({ place, chapter, heading, text, inTitle });
    }
  }
  hits.sort((a, b) => b.inTitle - a.inTitle);
  for (const hit of hits.slice(0, 20)) found.append(entry(hit, words[0]));
  if (hits.length === 0) {
    const none = document.createElement("li");
    none.textContent = "Nothing in the book has all of these words.";
    found.append(none);
  }
}

function entry(hit, word) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = hit.place;
  link.textContent = hit.heading === hit.chapter ? hit.chapter : `${hit.chapter}: ${hit.heading}`;
  const at = Math.max(0, hit.text.toLowerCase().indexOf(word) - 30);
  const excerpt = document.createElement("p");
  excerpt.textContent = (at ? "..." : "") + hit.text.slice(at, at + 110);
  item.append(link, excerpt);
  return item;
}

field.addEventListener("input", search);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== field) {
    event.preventDefault();
    field.focus();
  } else if (event.key === "Escape" && field.value) {
    field.value = "";
    search();
  }
});
if (window.matchMedia("(max-width: 900px)").matches) contents.open = false;
