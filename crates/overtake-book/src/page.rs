//! A page in HTML: the table of contents beside the chapter.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CowStr, Event, Tag, TagEnd, html};

use crate::chapter::{Chapter, Heading, parser, resolve};
use crate::links::is_address;
use crate::{Book, REPOSITORY};

/// Which chapter shows a file of the repository.
type Homes = BTreeMap<PathBuf, String>;

/// The page of the chapter at position `at`.
pub(crate) fn render(book: &Book, at: usize, homes: &Homes) -> String {
    let chapter = &book.chapters[at];
    let titles: Vec<_> = book.summary.entries().map(|entry| entry.title.as_str()).collect();
    let title = titles.get(at).copied().unwrap_or("Overtake");
    let headings = chapter.headings();
    let mut page = String::new();
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{} - Overtake</title>\n<link rel=\"stylesheet\" href=\"book.css\">\n\
         <script src=\"search.js\" defer></script>\n<script src=\"book.js\" defer></script>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#content\">Skip to the text</a>\n",
        escape(title)
    );
    page.push_str(&contents(book, at, &headings));
    let _ = writeln!(page, "<main id=\"content\">\n<article>\n{}</article>", body(chapter, &headings, homes));
    page.push_str(&neighbours(book, at));
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

/// The table of contents, with the sections of the chapter on display.
fn contents(book: &Book, at: usize, headings: &[Heading]) -> String {
    let mut list = String::from(
        "<nav aria-label=\"Chapters\">\n<a class=\"home\" href=\"index.html\">Overtake</a>\n\
         <input id=\"search\" type=\"search\" placeholder=\"Search the book\" aria-label=\"Search the book\">\n\
         <ol id=\"found\" hidden></ol>\n<details id=\"contents\" open><summary>Chapters</summary>\n",
    );
    let mut number = 0;
    for (part, entries) in &book.summary.parts {
        if !part.is_empty() {
            let _ = writeln!(list, "<h2>{}</h2>", escape(part));
        }
        list.push_str("<ul>\n");
        for entry in entries {
            let here = if number == at { " aria-current=\"page\"" } else { "" };
            let page = book.chapters.get(number).map(Chapter::output).unwrap_or_default();
            let _ = write!(list, "<li><a href=\"{page}\"{here}>{}</a>", escape(&entry.title));
            if number == at {
                list.push_str(&sections(headings));
            }
            list.push_str("</li>\n");
            number += 1;
        }
        list.push_str("</ul>\n");
    }
    list.push_str("</details>\n</nav>\n");
    list
}

fn sections(headings: &[Heading]) -> String {
    let sections: Vec<_> = headings.iter().filter(|heading| heading.level == 2).collect();
    if sections.is_empty() {
        return String::new();
    }
    let mut list = String::from("\n<ul>\n");
    for heading in sections {
        let _ = writeln!(list, "<li><a href=\"#{}\">{}</a></li>", heading.anchor, escape(&heading.words));
    }
    list.push_str("</ul>\n");
    list
}

/// Links to the chapters before and after.
fn neighbours(book: &Book, at: usize) -> String {
    let entries: Vec<_> = book.summary.entries().collect();
    let link = |position: usize, class: &str, word: &str| {
        let title = escape(&entries[position].title);
        format!(
            "<a class=\"{class}\" href=\"{}\"><span>{word}</span> {title}</a>",
            book.chapters[position].output()
        )
    };
    let before = at.checked_sub(1).map(|at| link(at, "before", "Before:")).unwrap_or_default();
    let after = if at + 1 < book.chapters.len() { link(at + 1, "after", "Next:") } else { String::new() };
    format!("<footer>{before}{after}</footer>\n")
}

/// The chapter's text in HTML, with anchors at headings and links between pages.
fn body(chapter: &Chapter, headings: &[Heading], homes: &Homes) -> String {
    let mut anchors = headings.iter();
    let mut body = String::new();
    for part in &chapter.parts {
        let events = parser(&part.text).map(|event| match event {
            Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
                let anchor = anchors.next().map(|heading| CowStr::from(heading.anchor.clone()));
                Event::Start(Tag::Heading { level, id: anchor, classes, attrs })
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = lead(&part.file, &dest_url, homes).into();
                Event::Start(Tag::Link { link_type, dest_url, title, id })
            }
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                let dest_url = lead(&part.file, &dest_url, homes).into();
                Event::Start(Tag::Image { link_type, dest_url, title, id })
            }
            other => other,
        });
        html::push_html(&mut body, events);
    }
    // Wide tables scroll on their own, so that the page does not.
    body.replace("<table>", "<div class=\"wide\" tabindex=\"0\"><table>")
        .replace("</table>", "</table></div>")
}

/// Where a link of `file` leads to in the book.
fn lead(file: &Path, target: &str, homes: &Homes) -> String {
    if is_address(target) || target.starts_with('#') {
        return target.to_owned();
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let found = resolve(file, path);
    let anchor = if anchor.is_empty() { String::new() } else { format!("#{anchor}") };
    if let Some(page) = homes.get(&found) {
        return format!("{page}{anchor}");
    }
    match found.strip_prefix("docs") {
        Ok(inside) => inside.display().to_string(),
        Err(_) => format!("{REPOSITORY}{}{anchor}", found.display()),
    }
}

/// What the search looks through: a section of a chapter each, as a script, so that it works from a disk.
pub(crate) fn search_index(chapters: &[Chapter]) -> String {
    let mut index = String::from("const SECTIONS = [\n");
    for chapter in chapters {
        let headings = chapter.headings();
        let title = headings.first().map(|heading| heading.words.clone()).unwrap_or_default();
        for (anchor, heading, text) in sections_of(chapter, &headings) {
            let place = format!("{}#{anchor}", chapter.output());
            let fields = [place, title.clone(), heading, text].map(|field| quote(&field));
            let _ = writeln!(index, "[{}],", fields.join(", "));
        }
    }
    index.push_str("];\n");
    index
}

/// The chapter's sections: anchor, heading, text.
fn sections_of(chapter: &Chapter, headings: &[Heading]) -> Vec<(String, String, String)> {
    let mut anchors = headings.iter();
    let mut sections: Vec<(String, String, String)> = Vec::new();
    let mut in_heading = false;
    for event in chapter.parts.iter().flat_map(|part| parser(&part.text)) {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                in_heading = true;
                if let Some(heading) = anchors.next() {
                    sections.push((heading.anchor.clone(), heading.words.clone(), String::new()));
                }
            }
            Event::End(TagEnd::Heading(_)) => in_heading = false,
            Event::Text(text) | Event::Code(text) if !in_heading => {
                if let Some(section) = sections.last_mut() {
                    section.2.push_str(&text);
                    section.2.push(' ');
                }
            }
            _ => {}
        }
    }
    sections
}

/// A string of JavaScript that is safe inside a script.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' | '\r' | '\t' => quoted.push(' '),
            '<' => quoted.push_str("\\u003c"),
            letter if letter.is_control() => {}
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
