//! Where something is.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

use super::Message;
use crate::result::{Frame, Report};

/// What relative paths are relative to.
const BASE: &str = "%SRCROOT%";

/// The meaning of the base. Only the consumer knows where it lies: results are the same on every machine.
pub(super) fn bases() -> Value {
    json!({BASE: {"description": {"text": "The directory in which the program was examined: the root of its sources."}}})
}

/// A SARIF location.
#[derive(Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Location<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    physical_location: Option<PhysicalLocation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logical_locations: Option<[LogicalLocation<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message<'a>>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation<'a> {
    artifact_location: ArtifactLocation<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region<'a>>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactLocation<'a> {
    uri: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Region<'a> {
    start_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<Message<'a>>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation<'a> {
    fully_qualified_name: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
}

/// A position in a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place<'a> {
    pub(super) file: &'a str,
    /// 0 if unknown.
    pub(super) line: u32,
    /// 0 if unknown.
    pub(super) column: u32,
}

impl<'a> Place<'a> {
    /// Of a frame; none if it names no file.
    pub(super) fn of(frame: &'a Frame) -> Option<Place<'a>> {
        let Frame { file, line, column, .. } = frame;
        match *line {
            0 => Place::parse(file),
            line => (!file.is_empty()).then_some(Place { file, line, column: *column }),
        }
    }

    /// Of a trace's location: `stats.c:30`, `stats.c:30:7`, `stats.c`. Labels such as `345` are no places.
    pub(super) fn parse(location: &'a str) -> Option<Place<'a>> {
        let (file, line, column) = match split_number(location) {
            None => (location, 0, 0),
            Some((head, last)) => match split_number(head) {
                Some((file, line)) => (file, line, last),
                None => (head, last, 0),
            },
        };
        let is_file = !file.is_empty() && (line > 0 || file.contains(['/', '.']));
        is_file.then_some(Place { file, line, column })
    }

    /// Of a schedule's step: `function file:line`, where both may have blanks in them.
    pub(super) fn of_step(place: &'a str, report: &Report) -> Option<Place<'a>> {
        let after_blanks = place.match_indices(' ').map(|(blank, _)| &place[blank + 1..]);
        let known = std::iter::once(place)
            .chain(after_blanks)
            .filter_map(Place::parse)
            .find(|place| place.line > 0 && report.sources.contains_key(place.file));
        known.or_else(|| Place::parse(place.rsplit(' ').next().unwrap_or(place)))
    }

    fn physical(self, report: &'a Report, with_snippet: bool) -> PhysicalLocation<'a> {
        let snippet = report.sources.get(self.file).filter(|_| with_snippet);
        let snippet = snippet.and_then(|excerpt| excerpt.lines.get(&self.line));
        let region = (self.line > 0).then(|| Region {
            start_line: self.line,
            start_column: (self.column > 0).then_some(self.column),
            snippet: snippet.map(|text| Message::new(text.as_str())),
        });
        PhysicalLocation { artifact_location: ArtifactLocation::of(self.file), region }
    }
}

fn split_number(text: &str) -> Option<(&str, u32)> {
    let (head, number) = text.rsplit_once(':')?;
    Some((head, number.parse().ok().filter(|number| *number > 0)?))
}

impl<'a> ArtifactLocation<'a> {
    /// A path below the base is relative to it; others are absolute.
    fn of(path: &'a str) -> ArtifactLocation<'a> {
        let is_absolute = path.starts_with('/');
        ArtifactLocation {
            uri: if is_absolute { format!("file://{}", encoded(path)).into() } else { encoded(path) },
            uri_base_id: (!is_absolute).then_some(BASE),
        }
    }
}

/// Escapes what has another meaning in a URI.
fn encoded(path: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/.-_~+@,=".contains(&byte);
    if path.bytes().all(is_plain) {
        return path.into();
    }
    let mut uri = String::with_capacity(2 * path.len());
    for byte in path.bytes() {
        match is_plain(byte) {
            true => uri.push(char::from(byte)),
            false => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.into()
}

impl<'a> Location<'a> {
    /// Of a frame: its function, and its place if it has one.
    pub(super) fn of(frame: &'a Frame, report: &'a Report) -> Location<'a> {
        let place = Place::of(frame);
        let label = match (frame.function.is_empty(), place) {
            (true, None) if !frame.file.is_empty() => Some((frame.file.as_str().into(), None)),
            (true, _) => None,
            (false, _) => Some((frame.full_name(), Some("function"))),
        };
        Location {
            logical_locations: label
                .map(|(fully_qualified_name, kind)| [LogicalLocation { fully_qualified_name, kind }]),
            ..Location::at(place, report)
        }
    }

    /// Of a place alone.
    pub(super) fn at(place: Option<Place<'a>>, report: &'a Report) -> Location<'a> {
        Location {
            physical_location: place.map(|place| place.physical(report, false)),
            ..Location::default()
        }
    }

    /// The one that a result is shown at. Code scanning wants a file and a line whatever is known: if the frame has none, it is
    /// shown at the first line of the trace, or of whatever file the run has.
    pub(super) fn primary(frame: Option<&'a Frame>, trace: &'a str, report: &'a Report) -> Location<'a> {
        let place = frame.and_then(Place::of);
        let module = frame.map_or("", |frame| &frame.module);
        let stand_in =
            [trace, module].into_iter().find(|name| !matches!(*name, "" | "-")).unwrap_or("unknown");
        let place = place.unwrap_or(Place { file: stand_in, line: 1, column: 0 });
        let place = Place { line: place.line.max(1), ..place };
        let mut location = frame.map_or_else(Location::default, |frame| Location::of(frame, report));
        location.physical_location = Some(place.physical(report, true));
        location
    }

    /// With a note on it.
    pub(super) fn saying(self, text: impl Into<Cow<'a, str>>) -> Location<'a> {
        Location { message: Some(Message::new(text)), ..self }
    }

    /// With a number that messages can refer to.
    pub(super) fn numbered(self, id: usize) -> Location<'a> {
        Location { id: Some(id), ..self }
    }

    /// Whether it has this number.
    pub(super) fn has_number(&self, id: usize) -> bool {
        self.id == Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(location: &str) -> Option<(&str, u32, u32)> {
        Place::parse(location).map(|Place { file, line, column }| (file, line, column))
    }

    #[test]
    fn locations_of_traces_are_places_if_they_name_a_file() {
        assert_eq!(parsed("stats.c:30"), Some(("stats.c", 30, 0)));
        assert_eq!(parsed("a:b.c:30:7"), Some(("a:b.c", 30, 7)));
        assert_eq!(parsed("src/stats.c"), Some(("src/stats.c", 0, 0)));
        assert_eq!(parsed("345"), None);
        assert_eq!(parsed(""), None);
        assert_eq!(parsed(":3"), None);
        assert_eq!(parsed("x:99999999999"), None);
    }

    #[test]
    fn blanks_in_paths_are_resolved_by_known_files() {
        let mut report = Report {
            schema: 1,
            version: String::new(),
            runs: vec![],
            findings: vec![],
            sources: Default::default(),
            triage: Default::default(),
        };
        let step = "int max<int, int>(int) my files/a.c:3";
        assert_eq!(Place::of_step(step, &report).map(|place| place.file), Some("files/a.c"));
        report.sources.insert("my files/a.c".into(), Default::default());
        assert_eq!(Place::of_step(step, &report).map(|place| place.file), Some("my files/a.c"));
    }

    #[test]
    fn paths_become_uris() {
        let location = |path| serde_json::to_value(ArtifactLocation::of(path)).expect("it is JSON");
        assert_eq!(location("src/c++/a.h"), json!({"uri": "src/c++/a.h", "uriBaseId": "%SRCROOT%"}));
        assert_eq!(location("/usr/a b#1%.h"), json!({"uri": "file:///usr/a%20b%231%25.h"}));
        assert_eq!(location("a:b"), json!({"uri": "a%3Ab", "uriBaseId": "%SRCROOT%"}));
    }
}
