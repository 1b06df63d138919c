//! How words become values: names of what the tables list, numbers, times.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use overtake_detect::{Entry, Registry};
use overtake_gen::gadgets::{GADGETS, find_gadget};
use overtake_gen::{SHAPES, find_shape};
use overtake_report::{RENDERERS, Renderer, find_renderer};
use overtake_trace::Format;

pub(super) use overtake_detect::parse_count as count_parser;

use super::findings::{ReportTarget, Severity};
use super::generate::Product;

pub(super) fn renderer_parser() -> impl TypedValueParser<Value = &'static Renderer> {
    let names = RENDERERS.iter().map(|renderer| PossibleValue::new(renderer.name).help(renderer.summary));
    PossibleValuesParser::new(names).try_map(|name| find_renderer(&name).ok_or("no such format"))
}

/// A format and a file: `sarif=races.sarif`.
pub(crate) fn report_parser(text: &OsStr) -> Result<ReportTarget, String> {
    let expected = || {
        let names: Vec<_> = RENDERERS.iter().map(|renderer| renderer.name).collect();
        let names = names.join(", ");
        format!("expected FORMAT=FILE, where FORMAT is one of {names}, found `{}`", text.display())
    };
    let bytes = text.as_bytes();
    let (name, file) = bytes.split_at(bytes.iter().position(|byte| *byte == b'=').ok_or_else(expected)?);
    let file = OsStr::from_bytes(&file[1..]);
    let renderer = str::from_utf8(name).ok().and_then(find_renderer).filter(|_| !file.is_empty());
    Ok(ReportTarget { renderer: renderer.ok_or_else(expected)?, file: file.into() })
}

pub(super) fn severity_parser() -> impl TypedValueParser<Value = Severity> {
    PossibleValuesParser::new(Severity::all().map(|(name, _)| name)).try_map(|name| {
        let found = Severity::all().find(|(known, _)| *known == name);
        found.map(|(_, severity)| severity).ok_or("no such kind of finding")
    })
}

pub(super) fn detector_parser(registry: Registry) -> impl TypedValueParser<Value = &'static Entry> {
    let entries = registry.entries().iter();
    let names = entries.map(|entry| PossibleValue::new(entry.name).help(entry.summary));
    PossibleValuesParser::new(names).try_map(move |name| registry.find(&name).ok_or("no such detector"))
}

pub(super) fn shape_parser() -> impl TypedValueParser<Value = Product> {
    let shapes = SHAPES.iter().map(|shape| PossibleValue::new(shape.name).help(shape.description));
    let gadgets = GADGETS.iter().map(|kind| PossibleValue::new(kind.name).help(kind.description));
    PossibleValuesParser::new(shapes.chain(gadgets)).try_map(|name| {
        let shape = find_shape(&name).map(Product::Shape);
        shape.or_else(|| find_gadget(&name).map(Product::Gadget)).ok_or("no such shape")
    })
}

pub(super) fn format_parser() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name))
        .try_map(|name| Format::from_name(&name).ok_or("no such format"))
}

/// A time in ms, s, m or h; a bare number is seconds.
pub(super) fn duration_parser(text: &str) -> Result<Duration, String> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let unit = units.into_iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
    let (number, seconds) = unit.unwrap_or((text, 1.0));
    let number = number.parse::<f64>().map_err(|_| format!("expected a time such as 90s, found `{text}`"))?;
    Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())
}
