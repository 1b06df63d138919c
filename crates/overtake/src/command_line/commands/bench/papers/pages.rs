//! Tables and plots as files, and all of them on one page.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use overtake::Error;

use super::originals::original;
use super::{Exhibit, Paper};

const STYLE: &str = "body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #1c2024; \
    background: #fff; }\nsection { margin-bottom: 3rem; }\n.table { overflow-x: auto; }\ntable { border-collapse: collapse; \
    font-variant-numeric: tabular-nums; font-size: 13px; }\nth, td { padding: 2px 10px; text-align: right; border-bottom: 1px solid #e3dfd7; \
    white-space: nowrap; }\nth { vertical-align: bottom; }\nth:first-child, td:first-child, td.text { text-align: left; }\nsvg { max-width: 100%; height: auto; }\nfigure { margin: 1rem 0 0; }\n\
    .note, .files { margin: 4px 0 0; font-size: 13px; color: #555; }\n";

/// Writes every exhibit, and the page of all, whose path is returned.
pub(super) fn write(papers: &[(&'static Paper, Vec<Exhibit>)], directory: &Path) -> Result<PathBuf, Error> {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Overtake: the papers</title>\n<style>\n{STYLE}</style>\n<h1>The evaluations of the papers, made again</h1>\n\
         <p>Times are seconds in the detector, without reading the trace. A figure with a percentage in brackets is of an analysis \
         that was stopped after this part of the trace.</p>\n"
    );
    for (paper, exhibits) in papers {
        let _ = write!(
            page,
            "<section>\n<h2>{}</h2>\n<p>{}<br><code>overtake bench papers {}</code></p>\n",
            paper.title, paper.source, paper.name
        );
        for exhibit in exhibits {
            match exhibit {
                Exhibit::Table(table) => {
                    store(directory, &table.name, "csv", &table.csv())?;
                    store(directory, &table.name, "md", &table.markdown())?;
                    store(directory, &table.name, "tex", &table.latex())?;
                    page.push_str(&table.html());
                    page.push_str(&files(
                        paper,
                        &table.name,
                        &[("csv", "CSV"), ("md", "Markdown"), ("tex", "LaTeX")],
                    ));
                }
                Exhibit::Plot(plot) => {
                    let svg = plot.svg();
                    store(directory, &plot.name, "svg", &svg)?;
                    let _ = writeln!(page, "<figure>{svg}</figure>");
                    page.push_str(&plot.note_html());
                    page.push_str(&files(paper, &plot.name, &[("svg", "SVG")]));
                }
            }
        }
        page.push_str("</section>\n");
    }
    page.push_str("</html>\n");
    store(directory, "index", "html", &page)
}

/// What makes an exhibit alone, and its files.
fn files(paper: &Paper, name: &str, kinds: &[(&str, &str)]) -> String {
    let exhibit = name.strip_prefix(paper.name).and_then(|rest| rest.strip_prefix('-')).unwrap_or(name);
    let links = kinds.iter().map(|(extension, kind)| format!(" · <a href=\"{name}.{extension}\">{kind}</a>"));
    format!(
        "<p class=\"files\"><code>{}.{exhibit}</code> · {}{}</p>\n",
        paper.name,
        original(name),
        links.collect::<String>()
    )
}

fn store(directory: &Path, name: &str, extension: &str, text: &str) -> Result<PathBuf, Error> {
    let path = directory.join(format!("{name}.{extension}"));
    std::fs::write(&path, text).map_err(|error| Error::in_file(&path, error))?;
    Ok(path)
}
