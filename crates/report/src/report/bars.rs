//! Rows of bars on one scale, with names and numbers: for the constants of an analysis, and for trials of causes. On a
//! narrow page, the name and the numbers of a row are above its bars.

use crate::report::prelude::*;

/// Height of a line of text above the bars.
const LINE: f64 = 16.0;

/// Positions within a row.
pub(super) struct BarLayout {
    /// Left and right end of the bars.
    pub(super) left: f64,
    pub(super) right: f64,
    /// Height of a row, and of the lines above its bars.
    pub(super) row: f64,
    above: f64,
    px: f64,
}

impl BarLayout {
    /// Lays out rows. The bars of a row are `height` high, and are between the given shares of a page's width. A row
    /// has at most `numbers` lines of numbers.
    pub(super) fn new(
        sheet: Sheet<'_>,
        height: f64,
        [left, right]: [f64; 2],
        numbers: usize,
    ) -> Self {
        let px = sheet.px();
        if sheet.is_narrow() {
            let above = LINE * (1 + numbers) as f64 + 6.0;
            return Self {
                left: MARGIN,
                right: px - MARGIN,
                row: height + above,
                above,
                px,
            };
        }
        Self {
            left: (left * px).round(),
            right: (right * px).round(),
            row: height,
            above: 0.0,
            px,
        }
    }

    /// The middle of the bars of the row at `y`.
    pub(super) fn middle(&self, y: f64) -> f64 {
        f64::midpoint(y + self.above, y + self.row)
    }

    /// Writes the name of the row at `y` and its lines of numbers, the last ones muted.
    pub(super) fn write(
        &self,
        canvas: &mut Canvas,
        y: f64,
        name: &str,
        numbers: &[String],
        inked: usize,
    ) {
        if self.above > 0.0 {
            write_fitted(
                canvas,
                name,
                (MARGIN, y + 15.0),
                TextStyle::new(SMALL, INK),
                self.px - 2.0 * MARGIN,
            );
            for (at, text) in numbers.iter().enumerate() {
                let baseline = y + 15.0 + LINE * (at + 1) as f64;
                let ink = if at < inked { INK } else { MUTED };
                write_fitted(
                    canvas,
                    text,
                    (MARGIN, baseline),
                    TextStyle::new(SMALL, ink),
                    self.px - 2.0 * MARGIN,
                );
            }
            return;
        }
        let middle = self.middle(y);
        write_fitted(
            canvas,
            name,
            (MARGIN, middle + 4.0),
            TextStyle::new(SMALL, INK),
            self.left - MARGIN - 12.0,
        );
        let (size, step) = if self.row < 30.0 {
            (11.0, 12.0)
        } else {
            (SMALL, 16.0)
        };
        for (at, text) in numbers.iter().enumerate() {
            let offset = 4.0 + step * (at as f64 - (numbers.len() - 1) as f64 / 2.0);
            let place = (self.right + 16.0, middle + offset);
            let ink = if at < inked { INK } else { MUTED };
            write_fitted(
                canvas,
                text,
                place,
                TextStyle::new(size, ink),
                self.px - MARGIN - self.right - 16.0,
            );
        }
    }
}

/// Writes the heading of a panel with its baseline at `y`.
pub(super) fn heading(canvas: &mut Canvas, y: f64, text: &str) {
    let text = fitted_name(text, LABEL, Weight::Bold, canvas.width - 2.0 * MARGIN);
    write_bold(canvas, &text, (MARGIN, y), TextStyle::new(LABEL, INK));
}

/// Height of a row of bars.
const ROW: f64 = 27.0;
/// Maximum number of rows in a panel.
pub(super) const ROWS: usize = 10;
/// Height of a panel's heading.
const HEADING: f64 = 34.0;
/// Left and right end of the bars, as shares of the page; names are at the left, numbers at the right.
const BARS: [f64; 2] = [0.294, 0.677];
/// Height of the key.
const KEY: f64 = 22.0;

/// The name of a measure in titles and axes.
pub(super) fn named(measure: Measure) -> &'static str {
    if measure == READY_TIME {
        "completion"
    } else {
        measure.column()
    }
}

/// The area, scale and unit for the bars of a chart.
pub(super) struct BarPlot<'p> {
    pub(super) layout: &'p BarLayout,
    pub(super) scale: &'p Scale,
    /// The unit of the measure.
    pub(super) unit: &'p str,
}

/// Bars of constants on one scale, in a panel for each variant.
pub(super) struct BarChart<'c, Row> {
    pub(super) subject: &'c str,
    /// The constants that the title may name.
    pub(super) most: &'c [&'c str],
    pub(super) note: String,
    pub(super) key: &'c [(&'c str, Colour)],
    /// Number of lines of numbers next to a row.
    pub(super) numbers: usize,
    pub(super) panels: Vec<(String, Vec<&'c Row>)>,
    /// The values that the scale must cover.
    pub(super) values: Vec<f64>,
    /// The title of the axis, without its unit.
    pub(super) axis: String,
    /// Whether bars begin at zero, so that the scale cannot be logarithmic.
    pub(super) is_from_zero: bool,
}

impl<Row> BarChart<'_, Row> {
    /// Draws the chart; `bar` draws one row at a height.
    pub(super) fn draw(
        self,
        sheet: Sheet<'_>,
        unit: &str,
        bar: fn(&mut Canvas, &BarPlot<'_>, f64, &Row),
    ) -> Canvas {
        let rows: usize = self.panels.iter().map(|(_, rows)| rows.len()).sum();
        let layout = BarLayout::new(sheet, ROW, BARS, self.numbers);
        let top = TOP + if self.key.is_empty() { 0.0 } else { KEY };
        let bottom = top + self.panels.len() as f64 * HEADING + rows as f64 * layout.row;
        // The title names as many constants as it has room for, the first ones first.
        let mut findings = Vec::new();
        for names in (1..=self.most.len()).rev() {
            let names = self.most[..names].join(", ");
            findings.push(format!("{}: {names}", self.subject));
        }
        let head = Head {
            subject: self.subject,
            findings,
            note: self.note.clone(),
        };
        let mut canvas = page(sheet, &head, bottom + 60.0 + FOOTER);
        legend(&mut canvas, (layout.left, TOP - 8.0), self.key);
        let area = Area {
            left: layout.left,
            top,
            right: layout.right,
            bottom,
        };
        let axis = if self.is_from_zero {
            BarAxis::of_times_from_zero(&self.values, area)
        } else {
            BarAxis::of(&self.values, unit, area)
        };
        let title = format!("{}: {}", self.axis, axis.name);
        bottom_grid(&mut canvas, area, &axis.scale, &axis.ticks, &title);
        let plot = BarPlot {
            layout: &layout,
            scale: &axis.scale,
            unit,
        };
        let mut y = top;
        for (variant, rows) in self.panels {
            heading(&mut canvas, y + 22.0, &variant);
            y += HEADING;
            for row in rows {
                bar(&mut canvas, &plot, y, row);
                y += layout.row;
            }
        }
        canvas
    }
}

/// A horizontal axis for values of a measure.
struct BarAxis {
    scale: Scale,
    ticks: Vec<AxisTick>,
    /// The name of the unit.
    name: String,
}

impl BarAxis {
    /// An axis from zero, or a logarithmic one.
    fn of(values: &[f64], unit: &str, area: Area) -> Self {
        let ends = (area.left, area.right);
        let (_, high) = span(values);
        match unit {
            "s" => {
                let scale = Scale::fitting(values, (LOG_FROM, [1.2, 1.15]), 1.05, ends);
                let (ticks, name) = ticks_of_time(&scale, (44.0, 6), ("{}", "time (logarithmic)"));
                Self { scale, ticks, name }
            }
            "bytes/s" => {
                let unit = RateUnit::for_max(high);
                Self::in_units_of(unit.bytes_per_s, unit.name, high, area)
            }
            "bytes" => Self::in_units_of(1e9, "GB", high, area),
            "1" => Self::in_units_of(0.01, "%", high, area),
            other => {
                let (scale, ticks) = count_scale(values, ([1.2, 1.15], 44.0), (high, 5), ends);
                Self {
                    scale,
                    ticks,
                    name: format!("{other}{}", scale.note()),
                }
            }
        }
    }

    /// A linear axis of times.
    fn of_times_from_zero(values: &[f64], area: Area) -> Self {
        let (_, high) = span(values);
        let (ticks, unit) = time_ticks(high, 5);
        Self {
            scale: Scale::from_zero(high, area.left, area.right),
            ticks,
            name: unit.long.to_owned(),
        }
    }

    /// An axis from zero, in a unit of the given size.
    fn in_units_of(size: f64, name: &str, high: f64, area: Area) -> Self {
        let ticks = scaled(ticks_from_zero(high / size, 5, false), size);
        Self {
            scale: Scale::to_last(&ticks, area.left, area.right),
            ticks,
            name: name.to_owned(),
        }
    }
}
