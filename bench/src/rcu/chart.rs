//! The picture of the scaling: read rates on the left, grace-period times on the right, as SVG.

use plotters::chart::{ChartBuilder, SeriesLabelPosition};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use crate::error::Error;
use crate::rcu::scaling::Point;
use crate::report::short;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const FONT: &str = "sans-serif";
const OURS: RGBColor = RGBColor(0, 90, 181);
const THEIRS: RGBColor = RGBColor(200, 70, 0);

/// A curve: its name, points and colour, and true if it is drawn hollow.
struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
    color: RGBColor,
    hollow: bool,
}

/// The title of a panel, the names of its axes, and the base of the horizontal one's logarithm.
struct Axes {
    title: &'static str,
    x: &'static str,
    y: &'static str,
    base: f64,
}

/// Draws both panels.
pub fn draw(file: &str, points: &[Point]) -> Result<(), Error> {
    let cannot = |error: String| Error::new(format!("{file} could not be drawn: {error}"));
    let area = SVGBackend::new(file, (1200, 520)).into_drawing_area();
    area.fill(&WHITE).map_err(|error| cannot(error.to_string()))?;
    let (left, right) = area.split_horizontally(600);
    let rates = Axes { title: "Empty sections, all readers together", x: "busy readers", y: "reads/s", base: 2.0 };
    let busy = curves(points, "busy", |point| point.reads_per_second, "");
    // From zero, with room for the legend above.
    panel(&left, &rates, 0.0..greatest(&busy, |point| point.1) * 1.3, &busy).map_err(&cannot)?;
    let graces = Axes { title: "One grace period", x: "readers", y: "microseconds", base: 10.0 };
    let mut both = curves(points, "busy", |point| point.grace_us, ", busy readers");
    both.extend(curves(points, "idle", |point| point.grace_us, ", idle readers"));
    let least = both.iter().flat_map(|curve| &curve.points).map(|point| point.1).fold(1e6, f64::min);
    let least = 10f64.powf(least.log10().floor());
    // Three more powers of ten, for the legend.
    let most = 10f64.powf(greatest(&both, |point| point.1).log10().ceil() + 3.0);
    panel(&right, &graces, (least..most).log_scale(), &both).map_err(&cannot)?;
    area.present().map_err(|error| cannot(error.to_string()))
}

/// Returns one curve for each scheme, of the points whose readers do `what`.
fn curves(points: &[Point], what: &str, value: impl Fn(&Point) -> Option<f64>, suffix: &str) -> Vec<Curve> {
    let schemes = [(true, OURS), (false, THEIRS)];
    let curve = |(ours, color)| {
        let mine = || points.iter().filter(move |point| point.ours == ours && point.readers_are == what);
        Curve {
            name: mine().map(|point| format!("{}{suffix}", point.scheme)).next().unwrap_or_default(),
            points: mine().filter_map(|point| Some((point.readers as f64, value(point)?))).collect(),
            color,
            hollow: what == "idle",
        }
    };
    schemes.into_iter().map(curve).filter(|curve| !curve.points.is_empty()).collect()
}

fn greatest(curves: &[Curve], of: fn(&(f64, f64)) -> f64) -> f64 {
    curves.iter().flat_map(|curve| &curve.points).map(of).fold(1.0, f64::max)
}

/// Returns an axis label, without a fraction for a whole number.
fn label(value: &f64) -> String {
    short(*value).replace(".00", "").replace(".0 ", " ").trim_end_matches(".0").to_string()
}

fn panel<Y>(area: &Area<'_>, axes: &Axes, y: Y, curves: &[Curve]) -> Result<(), String>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let x = (1.0..greatest(curves, |point| point.0) * 1.1).log_scale().base(axes.base);
    let mut chart = ChartBuilder::on(area)
        .caption(axes.title, (FONT, 20))
        .margin(16)
        .x_label_area_size(48)
        .y_label_area_size(72)
        .build_cartesian_2d(x, y)
        .map_err(|error| error.to_string())?;
    chart
        .configure_mesh()
        .x_desc(axes.x)
        .y_desc(axes.y)
        .axis_desc_style((FONT, 16))
        .label_style((FONT, 14))
        .x_label_formatter(&label)
        .y_label_formatter(&label)
        .bold_line_style(RGBColor(200, 200, 200))
        .light_line_style(RGBColor(238, 238, 238))
        .draw()
        .map_err(|error| error.to_string())?;
    for curve in curves {
        let style = ShapeStyle { color: curve.color.to_rgba(), filled: !curve.hollow, stroke_width: 2 };
        chart
            .draw_series(LineSeries::new(curve.points.iter().copied(), style))
            .map_err(|error| error.to_string())?
            .label(curve.name.as_str())
            .legend(move |(x, y)| {
                EmptyElement::at((x, y)) + PathElement::new([(0, 0), (20, 0)], style) + Circle::new((10, 0), 4, style)
            });
        chart
            .draw_series(curve.points.iter().map(|&point| Circle::new(point, 4, style)))
            .map_err(|error| error.to_string())?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.9))
        .border_style(RGBColor(160, 160, 160))
        .label_font((FONT, 14))
        .draw()
        .map_err(|error| error.to_string())
}
