//! Curves as a drawing (SVG).

use std::fmt::Write;

use super::table::html;

/// How an axis is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Equal steps are equal differences, from 0 on.
    Linear,
    /// Equal steps are equal ratios. What is not above 0 is not drawn.
    Logarithmic,
}

/// Points that belong together.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Curve {
    /// What it shows.
    pub name: String,
    /// Its points from left to right.
    pub points: Vec<(f64, f64)>,
}

/// A drawing of curves.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// The name of its file.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// What is on the axis to the right, and on the axis upwards.
    pub labels: [String; 2],
    /// How they are divided.
    pub scales: [Scale; 2],
    /// The curves.
    pub curves: Vec<Curve>,
    /// What else must be known; it is not in the drawing.
    pub note: String,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 48.0;
/// Colours that people with any kind of sight tell apart, and shapes of points beside them.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#4b0092"];

/// An axis from the smallest to the largest value.
struct Axis {
    scale: Scale,
    least: f64,
    most: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, scale: Scale) -> Axis {
        let shown = values.filter(|value| value.is_finite() && (scale == Scale::Linear || *value > 0.0));
        let (mut least, mut most) =
            shown.fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)));
        if least > most {
            (least, most) = (1.0, 2.0); // there is nothing to show
        }
        match scale {
            Scale::Linear => (least, most) = (least.min(0.0), nice_above(most)),
            Scale::Logarithmic => {
                (least, most) = (10f64.powf(least.log10().floor()), 10f64.powf(most.log10().ceil()))
            }
        }
        if least >= most {
            most = if least > 0.0 { least * 10.0 } else { 1.0 };
        }
        Axis { scale, least, most }
    }

    /// Where a value is, from 0 to 1; `None` if it cannot be shown.
    fn place(&self, value: f64) -> Option<f64> {
        let part = match self.scale {
            Scale::Linear => (value - self.least) / (self.most - self.least),
            Scale::Logarithmic => (value / self.least).log10() / (self.most / self.least).log10(),
        };
        part.is_finite().then_some(part)
    }

    /// Values with a mark at the axis.
    fn marks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                (0..=4).map(|step| self.least + f64::from(step) * (self.most - self.least) / 4.0).collect()
            }
            Scale::Logarithmic => {
                let decades = (self.most / self.least).log10().round() as i32;
                let step = (decades / 6 + 1).max(1);
                (0..=decades).step_by(step as usize).map(|power| self.least * 10f64.powi(power)).collect()
            }
        }
    }
}

/// The next round number that is not below a value. A quarter of it is round as well.
fn nice_above(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|&nice| nice >= value * 0.999_999)
        .unwrap_or(value)
}

/// A number as it stands at an axis: 2M, 0.5.
fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        large if large >= 1e9 => (value / 1e9, "G"),
        large if large >= 1e6 => (value / 1e6, "M"),
        large if large >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text =
        if scaled.abs() >= 0.01 || scaled == 0.0 { format!("{scaled:.2}") } else { format!("{scaled:.0e}") };
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    text + unit
}

impl Plot {
    /// The note as a part of an HTML page.
    pub fn note_html(&self) -> String {
        match self.note.as_str() {
            "" => String::new(),
            note => format!("<p class=\"note\">{}</p>\n", html(note)),
        }
    }

    /// The drawing.
    pub fn svg(&self) -> String {
        let axis = |which: usize| {
            let points = self.curves.iter().flat_map(|curve| &curve.points);
            Axis::over(points.map(|&(x, y)| if which == 0 { x } else { y }), self.scales[which])
        };
        let axes = [axis(0), axis(1)];
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n<title>{title}</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text x=\"{LEFT}\" y=\"20\" font-weight=\"bold\">{title}</text>\n",
            title = html(&self.title)
        );
        self.draw_axes(&axes, &mut out);
        for (number, curve) in self.curves.iter().enumerate() {
            draw_curve(curve, number, &axes, &mut out);
        }
        out + "</svg>\n"
    }

    fn draw_axes(&self, axes: &[Axis; 2], out: &mut String) {
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        for mark in axes[0].marks() {
            let Some(part) = axes[0].place(mark) else { continue };
            let x = LEFT + part * (right - LEFT);
            let _ = write!(
                out,
                "<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#ddd\"/>\n\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                bottom + 16.0,
                short(mark)
            );
        }
        for mark in axes[1].marks() {
            let Some(part) = axes[1].place(mark) else { continue };
            let y = bottom - part * (bottom - TOP);
            let _ = write!(
                out,
                "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#ddd\"/>\n\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                LEFT - 6.0,
                y + 4.0,
                short(mark)
            );
        }
        let middle = (TOP + bottom) / 2.0;
        let _ = write!(
            out,
            "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#333\"/>\n\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(16 {middle}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            (LEFT + right) / 2.0,
            HEIGHT - 10.0,
            html(&self.labels[0]),
            html(&self.labels[1])
        );
    }
}

fn draw_curve(curve: &Curve, number: usize, axes: &[Axis; 2], out: &mut String) {
    let colour = COLOURS[number % COLOURS.len()];
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    let places = curve.points.iter().filter_map(|&(x, y)| Some((axes[0].place(x)?, axes[1].place(y)?)));
    let places: Vec<_> =
        places.map(|(x, y)| (LEFT + x * (right - LEFT), bottom - y * (bottom - TOP))).collect();
    let line: Vec<_> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{}/>",
        line.join(" "),
        // A curve may lie upon another one, which is seen through its gaps.
        ["", " stroke-dasharray=\"7 4\"", " stroke-dasharray=\"2 4\""][number % 3]
    );
    for (x, y) in &places {
        let _ = write!(out, "{}", point(number, *x, *y, colour));
    }
    let y = TOP + 10.0 + 18.0 * number as f64;
    let _ = writeln!(
        out,
        "{}<text x=\"{}\" y=\"{:.1}\">{}</text>",
        point(number, right + 16.0, y, colour),
        right + 26.0,
        y + 4.0,
        html(&curve.name)
    );
}

/// A point: a circle, a square or a triangle, so that colour is not needed to tell curves apart.
fn point(number: usize, x: f64, y: f64, colour: &str) -> String {
    match number % 3 {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>\n"),
        1 => format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"7\" height=\"7\" fill=\"{colour}\"/>\n",
            x - 3.5,
            y - 3.5
        ),
        _ => format!("<path d=\"M{x:.1} {:.1}l4 7h-8z\" fill=\"{colour}\"/>\n", y - 4.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(scales: [Scale; 2], points: Vec<(f64, f64)>) -> Plot {
        Plot {
            name: "p".to_owned(),
            title: "a < b".to_owned(),
            labels: ["events".to_owned(), "seconds".to_owned()],
            scales,
            curves: vec![Curve { name: "hb".to_owned(), points }],
            note: String::new(),
        }
    }

    #[test]
    fn points_lie_where_their_scale_puts_them() {
        let svg =
            plot([Scale::Logarithmic, Scale::Linear], vec![(1.0, 0.0), (10.0, 5.0), (100.0, 10.0)]).svg();
        // From the left to the right edge in equal steps, from the bottom to the top.
        assert!(svg.contains("points=\"70.0,312.0 270.0,173.0 470.0,34.0\""), "{svg}");
        assert!(svg.contains("a &lt; b") && svg.contains(">100</text>"), "{svg}");
    }

    #[test]
    fn what_cannot_be_shown_is_left_out_and_nothing_is_infinite() {
        for points in
            [vec![], vec![(0.0, 0.0)], vec![(1.0, f64::NAN), (5.0, 5.0)], vec![(3.0, 3.0), (3.0, 3.0)]]
        {
            for scale in [Scale::Linear, Scale::Logarithmic] {
                let svg = plot([scale, scale], points.clone()).svg();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
    }

    #[test]
    fn marks_are_short() {
        assert_eq!([0.0, 0.25, 1500.0, 2e6, 0.0001].map(short), ["0", "0.25", "1.5k", "2M", "1e-4"]);
    }
}
