//! Renders charts as text of a given size: roofs, points marked with letters, and a legend. Points in the same cell share a letter.

use super::{Bound, Chart, Line, Log, Place, Point, Roof, drawable};
use crate::display_width::{columns, cut, pad, shorten};
use crate::format;

/// Size and capabilities of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canvas {
    /// Width of the picture in columns.
    pub columns: usize,
    /// Height of the picture in lines, without the legend.
    pub rows: usize,
    /// True if the output may contain non-ASCII characters.
    pub unicode: bool,
    /// True if to use ANSI color sequences.
    pub color: bool,
    /// Maximum width of tables and sentences; `None` for output that is not a terminal, which is not wrapped.
    pub limit: Option<usize>,
}

/// Minimum size of the picture; on a smaller canvas only a list is printed.
const MIN_COLUMNS: usize = 32;
const MIN_ROWS: usize = 8;
/// Maximum size, which prevents a mistyped size from exhausting the memory.
const MAX_SIZE: usize = 1000;

const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Maximum number of listed points without a position.
const MAX_LISTED: usize = 10;

/// Color of a cell, by its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ink {
    Plain,
    Bold,
    Faint,
    /// Index of the kind of operation.
    Kind(usize),
}

impl Ink {
    fn paint(self, text: &str, canvas: &Canvas) -> String {
        let code = match self {
            _ if !canvas.color => return text.into(),
            Ink::Plain => return text.into(),
            Ink::Bold => "1",
            Ink::Faint => "2",
            Ink::Kind(kind) => ["1;33", "1;36", "1;35", "1;32", "1;34", "1;31"][kind % 6],
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Renders the chart; every line ends with a newline.
pub fn draw(chart: &Chart, canvas: &Canvas) -> String {
    let canvas =
        &Canvas { columns: canvas.columns.min(MAX_SIZE), rows: canvas.rows.min(MAX_SIZE), ..*canvas };
    let mut out = String::new();
    for (text, ink) in [(&chart.title, Ink::Bold), (&chart.subtitle, Ink::Faint)] {
        if !text.is_empty() {
            out += &ink.paint(&cut(text, canvas.columns, canvas.unicode), canvas);
            out.push('\n');
        }
    }
    let kinds = chart.kinds();
    if canvas.columns < MIN_COLUMNS || canvas.rows < MIN_ROWS {
        return out + &list(chart, canvas);
    }
    let mut picture = Picture::new(chart, canvas);
    let spots = picture.spots(chart);
    picture.draw(chart, &spots, &kinds);
    out += &picture.text();
    out += &roofs(chart, canvas);
    out += &legend(chart, &spots, &kinds, canvas);
    out
}

/// A cell with its points, sorted by their share of the time.
struct Spot {
    at: (usize, usize),
    points: Vec<usize>,
}

/// Returns the marker of a spot: a letter for the first 52, then a dot.
fn mark(spot: usize, unicode: bool) -> char {
    LETTERS.get(spot).map_or(if unicode { '•' } else { '*' }, |letter| char::from(*letter))
}

struct Picture<'a> {
    canvas: &'a Canvas,
    intensity: Log,
    performance: Log,
    /// Columns left of the plot for the axis labels.
    gutter: usize,
    width: usize,
    height: usize,
    cells: Vec<(char, Ink)>,
    /// Braille dots of the roofs, 2 × 4 per cell.
    dots: Vec<u8>,
}

const EMPTY: (char, Ink) = (' ', Ink::Plain);

impl<'a> Picture<'a> {
    fn new(chart: &Chart, canvas: &'a Canvas) -> Self {
        let (intensity, performance) = chart.axes();
        // One line above for a caption; three below for axis, labels and caption.
        let height = canvas.rows - 4;
        let labels =
            performance.decades(height / 2).into_iter().map(|tick| columns(&tick.label(canvas.unicode)));
        let gutter = labels.max().unwrap_or(0) + 1;
        let width = canvas.columns - gutter - 1;
        Picture {
            canvas,
            intensity,
            performance,
            gutter,
            width,
            height,
            cells: vec![EMPTY; width * height],
            dots: vec![0; width * height],
        }
    }

    /// Converts a position on the chart to cells from the upper left corner.
    fn position(&self, place: Place) -> (f64, f64) {
        (
            self.intensity.at(place.intensity) * self.width as f64,
            (1.0 - self.performance.at(place.performance)) * self.height as f64,
        )
    }

    fn column(&self, intensity: f64) -> usize {
        ((self.intensity.at(intensity) * self.width as f64).max(0.0) as usize).min(self.width - 1)
    }

    fn row(&self, performance: f64) -> usize {
        (((1.0 - self.performance.at(performance)) * self.height as f64).max(0.0) as usize)
            .min(self.height - 1)
    }

    /// Groups the drawable points by cell, sorted by their share of the time.
    fn spots(&self, chart: &Chart) -> Vec<Spot> {
        let mut cells = std::collections::BTreeMap::<(usize, usize), Vec<usize>>::new();
        for (index, point) in chart.points.iter().enumerate() {
            if let Some(place) = point.place() {
                cells
                    .entry((self.column(place.intensity), self.row(place.performance)))
                    .or_default()
                    .push(index);
            }
        }
        let weight = |point: &usize| chart.points.get(*point).map_or(-1.0, Point::weight);
        let mut spots: Vec<Spot> = cells
            .into_iter()
            .map(|(at, mut points)| {
                points.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
                Spot { at, points }
            })
            .collect();
        let weight = |spot: &Spot| chart.weight(&spot.points);
        spots.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        spots
    }

    fn draw(&mut self, chart: &Chart, spots: &[Spot], kinds: &[&str]) {
        if self.canvas.unicode {
            self.grid();
        }
        let lines = chart.lines(self.intensity.low(), self.intensity.high());
        for line in &lines {
            for pair in line.vertices.windows(2) {
                if let [from, to] = pair {
                    self.line(*from, *to);
                }
            }
        }
        self.dots_to_cells();
        for (index, spot) in spots.iter().enumerate().rev() {
            let kind = spot.points.first().and_then(|point| chart.points.get(*point));
            let kind =
                kinds.iter().position(|name| kind.is_some_and(|point| point.group == *name)).unwrap_or(0);
            self.set(spot.at.0, spot.at.1, mark(index, self.canvas.unicode), Ink::Kind(kind));
        }
        for (index, line) in lines.iter().enumerate() {
            self.label(
                line,
                &chart.full_name(line.roof),
                if lines.len() > 1 { format!("{}: ", index + 1) } else { String::new() },
            );
        }
        if let Some(ridge) = lines.first().and_then(|line| line.ridge) {
            self.border(ridge);
        }
    }

    fn set(&mut self, column: usize, row: usize, glyph: char, ink: Ink) {
        if column < self.width
            && let Some(cell) = self.cells.get_mut(row * self.width + column)
        {
            *cell = (glyph, ink);
        }
    }

    fn cell(&self, column: usize, row: usize) -> Option<char> {
        if column >= self.width {
            return None;
        }
        self.cells.get(row * self.width + column).map(|cell| cell.0)
    }

    /// Tests if these cells and their horizontal neighbors contain only the grid.
    fn free(&self, column: usize, row: usize, width: usize) -> bool {
        row < self.height
            && column + width <= self.width
            && (column.saturating_sub(1)..(column + width + 1).min(self.width))
                .all(|column| matches!(self.cell(column, row), Some(' ' | '·')))
    }

    fn write(&mut self, column: usize, row: usize, text: &str, ink: Ink) {
        for (offset, glyph) in text.chars().enumerate() {
            self.set(column + offset, row, glyph, ink);
        }
    }

    /// Draws a dot at each crossing of two decades.
    fn grid(&mut self) {
        for performance in self.performance.decades(self.height / 2) {
            for intensity in self.intensity.decades(self.width / 6) {
                self.set(self.column(intensity.value), self.row(performance.value), '·', Ink::Faint);
            }
        }
    }

    fn line(&mut self, from: Place, to: Place) {
        let (start, end) = (self.position(from), self.position(to));
        let (dx, dy) = (end.0 - start.0, end.1 - start.1);
        if self.canvas.unicode {
            let steps = (dx.abs() * 4.0).max(dy.abs() * 8.0).ceil().max(1.0) as usize;
            for step in 0..=steps {
                let part = step as f64 / steps as f64;
                self.dot(start.0 + part * dx, start.1 + part * dy);
            }
            return;
        }
        let steep = dy.abs() > 0.6 * dx.abs();
        let steps = (if steep { dy.abs() } else { dx.abs() } * 2.0).ceil().max(1.0) as usize;
        for step in 0..=steps {
            let part = step as f64 / steps as f64;
            let (x, y) = (start.0 + part * dx, start.1 + part * dy);
            let glyph = match y.fract() {
                _ if steep => '/',
                _ if dy == 0.0 => '-',
                ..0.34 => '\'',
                ..0.67 => '-',
                _ => '.',
            };
            let column = (x.max(0.0) as usize).min(self.width - 1);
            self.set(column, (y.max(0.0) as usize).min(self.height - 1), glyph, Ink::Plain);
        }
    }

    fn dot(&mut self, x: f64, y: f64) {
        let (x, y) = ((x * 2.0).max(0.0) as usize, (y * 4.0).max(0.0) as usize);
        let (x, y) = (x.min(self.width * 2 - 1), y.min(self.height * 4 - 1));
        let bit = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]][y % 4][x % 2];
        if let Some(dots) = self.dots.get_mut((y / 4) * self.width + x / 2) {
            *dots |= bit;
        }
    }

    fn dots_to_cells(&mut self) {
        for (cell, dots) in self.cells.iter_mut().zip(&self.dots) {
            if *dots != 0 {
                *cell = (char::from_u32(0x2800 + u32::from(*dots)).unwrap_or('*'), Ink::Plain);
            }
        }
    }

    /// Writes a roof's figures next to its slope and its flat part, if there is room.
    fn label(&mut self, line: &Line, name: &str, tag: String) {
        let name = cut(name, 24, self.canvas.unicode);
        let unicode = self.canvas.unicode;
        let texts = |figure: Option<f64>, unit: &str| {
            let figure = format::maybe(figure);
            let long = format!("{tag}{name} {figure} {unit}");
            // The picture consists of single-column cells; names with wide characters appear only in the legend.
            let simple = long.chars().all(|c| columns(c.encode_utf8(&mut [0; 4])) == 1) || !unicode;
            let short = [format!("{tag}{figure} {unit}"), tag.trim_end_matches(": ").to_owned()];
            [long]
                .into_iter()
                .filter(|_| simple)
                .chain(short)
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
        };
        if line.roof.bandwidth_gb_s.is_some()
            && let [from, to, ..] = line.vertices[..]
        {
            let texts = texts(line.roof.bandwidth_gb_s, "GB/s");
            self.label_slope(from, to, &texts);
        }
        if !line.roof.curve.is_empty()
            && let [.., start, end] = line.vertices[..]
        {
            let texts = [format!("{tag}{name}"), tag.trim_end_matches(": ").to_owned()];
            self.label_flat(
                start,
                end,
                &texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>(),
            );
        }
        if line.roof.compute_gflop_s.is_some()
            && let [.., start, end] = line.vertices[..]
        {
            let texts = texts(line.roof.compute_gflop_s, "GFLOP/s");
            self.label_flat(start, end, &texts);
        }
    }

    fn label_slope(&mut self, from: Place, to: Place, texts: &[String]) {
        let (start, end) = (self.position(from), self.position(to));
        // Search from the middle outwards.
        let cells: Vec<(usize, usize)> = (0..40)
            .map(|step| 0.5 + if step % 2 == 0 { -1.0 } else { 1.0 } * f64::from(step) / 80.0)
            .map(|part| (start.0 + part * (end.0 - start.0), start.1 + part * (end.1 - start.1)))
            .map(|(x, y)| (x.max(0.0) as usize, y.max(0.0) as usize))
            .collect();
        let blank = |cell: Option<char>| matches!(cell, Some(' ' | '·'));
        for text in texts {
            let width = columns(text);
            for (x, y) in &cells {
                let left = (0..*x).rev().find(|column| blank(self.cell(*column, *y)));
                let left = left.and_then(|column| column.checked_sub(width));
                let right = (*x..self.width).find(|column| blank(self.cell(*column, *y)));
                for column in left.into_iter().chain(right.map(|column| column + 1)) {
                    if self.free(column, *y, width) && column.abs_diff(*x) <= width + 4 {
                        self.write(column, *y, text, Ink::Plain);
                        return;
                    }
                }
            }
        }
        // Between close lines, only the number fits, on the line itself.
        let on_line =
            |(x, y): &&(usize, usize)| self.cell(*x, *y).is_some_and(|cell| !cell.is_alphanumeric());
        if let (Some(tag), Some((x, y))) = (texts.last(), cells.iter().find(on_line).copied())
            && tag.len() <= 2
        {
            self.write(x, y, tag, Ink::Plain);
        }
    }

    fn label_flat(&mut self, start: Place, end: Place, texts: &[String]) {
        let (first, row) = (self.column(start.intensity), self.row(end.performance));
        for text in texts {
            let width = columns(text);
            for right in (first + width..=self.width).rev() {
                for row in row.checked_sub(1).into_iter().chain([row + 1]) {
                    if let Some(column) = right.checked_sub(width)
                        && self.free(column, row, width)
                    {
                        self.write(column, row, text, Ink::Plain);
                        return;
                    }
                }
            }
        }
    }

    /// Draws the border between memory-bound and compute-bound below the first ridge point.
    fn border(&mut self, ridge: Place) {
        let column = self.column(ridge.intensity);
        for row in self.row(ridge.performance) + 1..self.height {
            if self.free(column, row, 1) {
                self.set(column, row, if self.canvas.unicode { '┊' } else { ':' }, Ink::Faint);
            }
        }
        let (row, memory) = (self.height - 1, "memory-bound");
        if let Some(start) = column.checked_sub(memory.len() + 2)
            && self.free(start, row, memory.len())
        {
            self.write(start, row, memory, Ink::Faint);
        }
        if self.free(column + 2, row, "compute-bound".len()) {
            self.write(column + 2, row, "compute-bound", Ink::Faint);
        }
    }

    /// Renders the cells with axes and labels.
    fn text(&self) -> String {
        let unicode = self.canvas.unicode;
        let [wall, notch, corner, floor, mark] =
            if unicode { ['│', '┤', '└', '─', '┬'] } else { ['|', '+', '+', '-', '+'] };
        let rows = self.performance.decades(self.height / 2);
        let mut out = format!("{:>width$}\n", "GFLOP/s", width = self.gutter.max(7));
        for row in 0..self.height {
            let tick = rows.iter().find(|tick| self.row(tick.value) == row);
            let label = tick.map(|tick| tick.label(unicode)).unwrap_or_default();
            let mut line = " ".repeat(self.gutter.saturating_sub(columns(&label) + 1));
            line += &label;
            line.push(' ');
            line.push(if tick.is_some() { notch } else { wall });
            let cells = self.cells.iter().skip(row * self.width).take(self.width);
            let mut run = (String::new(), Ink::Plain);
            for (glyph, ink) in cells {
                if *ink != run.1 && !run.0.is_empty() {
                    line += &run.1.paint(&run.0, self.canvas);
                    run.0.clear();
                }
                run.1 = *ink;
                run.0.push(*glyph);
            }
            line += &run.1.paint(run.0.trim_end(), self.canvas);
            out += line.trim_end();
            out.push('\n');
        }
        let mut axis = vec![floor; self.width];
        let mut labels = vec![' '; self.canvas.columns];
        for tick in self.intensity.decades(self.width / 6) {
            let column = self.column(tick.value);
            if let Some(cell) = axis.get_mut(column) {
                *cell = mark;
            }
            let label = tick.label(unicode);
            let width = label.chars().count();
            let start = (self.gutter + 1 + column).saturating_sub(width / 2).min(labels.len() - width);
            labels.splice(start..start + width, label.chars());
        }
        out += &format!("{}{corner}{}\n", " ".repeat(self.gutter), axis.into_iter().collect::<String>());
        out += labels.into_iter().collect::<String>().trim_end();
        out + &format!("\n{:>width$}\n", "FLOP/byte", width = self.canvas.columns)
    }
}

/// Lists the roofs, one per line.
fn roofs(chart: &Chart, canvas: &Canvas) -> String {
    if chart.roofs.is_empty() {
        return String::new();
    }
    let figure = |value: Option<f64>, unit: &str| {
        drawable(value).map(|value| format!("{} {unit}", format::figure(value))).unwrap_or_default()
    };
    let column = |heading, cell: &dyn Fn(&Roof) -> String| Column {
        heading,
        figures: true,
        cells: chart.roofs.iter().map(cell).collect(),
    };
    let bends = |roof: &Roof| drawable(roof.bandwidth_gb_s).is_some() || !roof.curve.is_empty();
    let ridge = |roof: &Roof| chart.ridge_of(roof).filter(|_| bends(roof));
    let grid = Grid {
        marks: (1..=chart.roofs.len()).map(|tag| (tag.to_string(), Ink::Plain)).collect(),
        heading: "roof",
        name: &|row, room| {
            let Some(roof) = chart.roofs.get(row) else { return String::new() };
            cut(&chart.full_name(roof), room, canvas.unicode)
        },
        columns: vec![
            column("bandwidth", &|roof| figure(roof.bandwidth_gb_s, "GB/s")),
            column("compute", &|roof| figure(roof.compute_gflop_s, "GFLOP/s")),
            column("ridge", &|roof| figure(ridge(roof).map(|ridge| ridge.intensity), "FLOP/byte")),
        ],
    };
    "\n".to_owned() + &grid.text(canvas)
}

/// Lists the points by letter, then the points without a position.
fn legend(chart: &Chart, spots: &[Spot], kinds: &[&str], canvas: &Canvas) -> String {
    let mut out = String::new();
    let lettered = spots.get(..LETTERS.len().min(spots.len())).unwrap_or_default();
    if !lettered.is_empty() {
        out.push('\n');
        out += &table(chart, lettered, kinds, canvas, &|index| mark(index, canvas.unicode));
    }
    let others = spots.get(LETTERS.len()..).unwrap_or_default();
    if !others.is_empty() {
        let points = others.iter().map(|spot| spot.points.len()).sum::<usize>();
        let text = format!(
            "{} {} more, each with less of the time",
            mark(LETTERS.len(), canvas.unicode),
            format::count(points)
        );
        out += &cut(&text, canvas.columns, canvas.unicode);
        out.push('\n');
    }
    let undrawn: Vec<Spot> = chart
        .points
        .iter()
        .enumerate()
        .filter(|(_, point)| point.place().is_none())
        .map(|(index, _)| Spot { at: (0, 0), points: vec![index] })
        .collect();
    if !undrawn.is_empty() {
        let text =
            format!("not drawn (no positive intensity or performance): {}", format::count(undrawn.len()));
        out += &format!("\n{}\n", cut(&text, canvas.columns, canvas.unicode));
        let listed = undrawn.get(..MAX_LISTED.min(undrawn.len())).unwrap_or_default();
        out += &table(chart, listed, kinds, canvas, &|_| '-');
        if undrawn.len() > MAX_LISTED {
            out += &format!("  and {} more\n", format::count(undrawn.len() - MAX_LISTED));
        }
    }
    out
}

fn table(
    chart: &Chart,
    spots: &[Spot],
    kinds: &[&str],
    canvas: &Canvas,
    mark: &dyn Fn(usize) -> char,
) -> String {
    let rows: Vec<(&Spot, &Point)> =
        spots.iter().filter_map(|spot| Some((spot, chart.points.get(*spot.points.first()?)?))).collect();
    // The common value of all points of a spot, or `mixed`.
    let common = |spot: &Spot, text: &dyn Fn(&Point) -> String| {
        let mut texts = spot.points.iter().filter_map(|point| chart.points.get(*point)).map(text);
        let first = texts.next().unwrap_or_default();
        if texts.all(|next| next == first) { first } else { "mixed".into() }
    };
    let column = |heading, figures, cell: &dyn Fn(&Spot, &Point) -> String| Column {
        heading,
        figures,
        cells: rows.iter().map(|(spot, first)| cell(spot, first)).collect(),
    };
    let mut figures = vec![
        column("FLOP/byte", true, &|_, first| format::maybe(first.intensity_flop_byte)),
        column("GFLOP/s", true, &|_, first| format::maybe(first.performance_gflop_s)),
    ];
    if chart.points.iter().any(|point| point.share.is_some()) {
        figures.push(column("time", true, &|spot, _| format::percent(chart.share(&spot.points))));
    }
    if chart.points.iter().any(|point| point.bound != Bound::Undefined) {
        figures.push(column("bound", false, &|spot, _| common(spot, &|point| point.bound.name().into())));
    }
    figures
        .push(column("kind", false, &|spot, _| common(spot, &|point| cut(&point.group, 16, canvas.unicode))));
    let kind = |first: &Point| kinds.iter().position(|name| *name == first.group).unwrap_or(0);
    let marks =
        rows.iter().enumerate().map(|(row, (_, first))| (mark(row).to_string(), Ink::Kind(kind(first))));
    let name = |row: usize, room: usize| {
        rows.get(row).map(|(spot, _)| names(chart, spot, room, canvas.unicode)).unwrap_or_default()
    };
    Grid { marks: marks.collect(), heading: "operation", name: &name, columns: figures }.text(canvas)
}

/// Lists the names at a spot that fit, and counts the others.
fn names(chart: &Chart, spot: &Spot, room: usize, unicode: bool) -> String {
    let mut names = spot.points.iter().filter_map(|point| chart.points.get(*point)).map(|point| &point.name);
    let mut left = spot.points.len().saturating_sub(1);
    let more = |left: usize| if left > 0 { format!(" +{}", format::count(left)) } else { String::new() };
    let room_for_names = room.saturating_sub(more(left).len());
    let mut shown = names.next().map(|name| shorten(name, room_for_names, unicode)).unwrap_or_default();
    for name in names {
        let longer = format!("{shown}, {}", shorten(name, room, unicode));
        if columns(&longer) > room_for_names {
            break;
        }
        shown = longer;
        left -= 1;
    }
    cut(&(shown + &more(left)), room, unicode)
}

/// Lists roofs and points, one per line, for a canvas that is too small for a picture.
fn list(chart: &Chart, canvas: &Canvas) -> String {
    let figure =
        |value: Option<f64>, unit: &str| value.map(|value| format!("{} {unit}", format::figure(value)));
    let roofs = chart.roofs.iter().map(|roof| {
        let figures = [figure(roof.bandwidth_gb_s, "GB/s"), figure(roof.compute_gflop_s, "GFLOP/s")];
        (&roof.name, figures.into_iter().flatten().collect::<Vec<_>>())
    });
    let points = chart.points.iter().map(|point| {
        let figures = [
            figure(point.intensity_flop_byte, "FLOP/byte"),
            figure(point.performance_gflop_s, "GFLOP/s"),
            point.share.map(|share| format::percent(Some(share))),
            Some(point.bound.name().to_owned()),
        ];
        (&point.name, figures.into_iter().flatten().collect::<Vec<_>>())
    });
    let mut out = String::new();
    for (name, figures) in roofs.chain(points.take(LETTERS.len())) {
        out += &format!("{}: {}\n", cut(name, 64, canvas.unicode), figures.join(", "));
    }
    if chart.points.len() > LETTERS.len() {
        out += &format!("and {} more\n", format::count(chart.points.len() - LETTERS.len()));
    }
    out
}

/// A column of the legend.
struct Column {
    heading: &'static str,
    /// True if the cells are right-aligned.
    figures: bool,
    cells: Vec<String>,
}

/// Rows of the legend: a mark, a name that takes the remaining width, and columns. The last columns are dropped until the name has
/// enough room.
struct Grid<'a> {
    marks: Vec<(String, Ink)>,
    heading: &'static str,
    /// Returns the name of a row, shortened to a number of columns.
    name: &'a dyn Fn(usize, usize) -> String,
    columns: Vec<Column>,
}

impl Grid<'_> {
    fn text(self, canvas: &Canvas) -> String {
        const MIN_NAME: usize = 16;
        const MAX_NAME: usize = 64;
        let rows = self.marks.len();
        let width = |column: &Column| {
            column.cells.iter().map(|cell| columns(cell)).chain([column.heading.len()]).max().unwrap_or(0)
        };
        let mark = self.marks.iter().map(|mark| columns(&mark.0)).max().unwrap_or(0);
        let mut shown: Vec<&Column> =
            self.columns.iter().filter(|column| column.cells.iter().any(|cell| !cell.is_empty())).collect();
        let natural = (0..rows).map(|row| columns(&(self.name)(row, MAX_NAME)));
        let natural = natural.max().unwrap_or(0).max(self.heading.len());
        let left = |shown: &[&Column]| {
            let taken = shown.iter().map(|column| width(column) + 2).sum::<usize>() + mark + 2;
            canvas.columns.saturating_sub(taken)
        };
        while !shown.is_empty() && left(&shown) < MIN_NAME.min(natural) {
            shown.pop();
        }
        let name = left(&shown).min(natural);
        let cell = |text: &str, column: &Column| {
            let padding = " ".repeat(width(column).saturating_sub(columns(text)));
            if column.figures { format!("  {padding}{text}") } else { format!("  {text}{padding}") }
        };
        let mut heading = format!("{}  {}", " ".repeat(mark), pad(self.heading, name));
        heading.extend(shown.iter().map(|column| cell(column.heading, column)));
        let mut out = Ink::Faint.paint(heading.trim_end(), canvas) + "\n";
        for (row, (text, ink)) in self.marks.iter().enumerate() {
            let mut line = pad(&(self.name)(row, name), name);
            line.extend(
                shown.iter().map(|column| cell(column.cells.get(row).map_or("", String::as_str), column)),
            );
            out += &format!("{}  {}\n", ink.paint(&pad(text, mark), canvas), line.trim_end());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    fn canvas(columns: usize) -> Canvas {
        Canvas { columns, rows: 20, unicode: true, color: false, limit: None }
    }

    fn shown(columns: usize) -> String {
        draw(&sample::model(), &canvas(columns))
    }

    #[test]
    fn the_chart_at_60_columns() {
        insta::assert_snapshot!(shown(60));
    }

    #[test]
    fn the_chart_at_80_columns() {
        insta::assert_snapshot!(shown(80));
    }

    #[test]
    fn the_chart_at_120_columns() {
        insta::assert_snapshot!(shown(120));
    }

    #[test]
    fn the_chart_in_ascii() {
        let text = draw(&sample::model(), &Canvas { unicode: false, ..canvas(80) });
        assert!(text.is_ascii());
        insta::assert_snapshot!(text);
    }

    #[test]
    fn the_chart_of_a_machine_without_points() {
        insta::assert_snapshot!(draw(&sample::machine(), &canvas(80)));
    }

    #[test]
    fn color_does_not_change_the_text() {
        let colored = draw(&sample::hostile(), &Canvas { color: true, ..canvas(80) });
        let mut plain = String::new();
        let mut rest = colored.as_str();
        while let Some((before, after)) = rest.split_once("\x1b[") {
            plain += before;
            rest = after.split_once('m').expect("every sequence sets a color").1;
        }
        assert_eq!(plain + rest, draw(&sample::hostile(), &canvas(80)));
    }

    #[test]
    fn lines_respect_the_width_and_have_no_control_characters() {
        for columns_of_canvas in (MIN_COLUMNS..140).chain([MAX_SIZE]) {
            for unicode in [true, false] {
                let text = draw(&sample::hostile(), &Canvas { unicode, ..canvas(columns_of_canvas) });
                for line in text.lines() {
                    assert!(columns(line) <= columns_of_canvas, "{line:?} is wider than {columns_of_canvas}");
                    assert!(!line.contains(char::is_control));
                }
            }
        }
    }

    #[test]
    fn small_terminals_get_a_list() {
        for (columns, rows) in [(0, 0), (1, 1), (1, 50), (200, 1), (MIN_COLUMNS - 1, 20)] {
            let text = draw(&sample::model(), &Canvas { columns, rows, ..canvas(80) });
            assert!(text.contains("prefill matmul: 96.0 FLOP/byte, 171 GFLOP/s, 5.0 %, compute"), "{text}");
            assert!(text.contains("L3: 180 GB/s"));
        }
    }

    #[test]
    fn charts_without_points_or_roofs_are_drawn() {
        let full = sample::model();
        let one = Chart { roofs: Vec::new(), points: full.points[..1].to_vec(), ..Chart::default() };
        assert!(draw(&one, &canvas(80)).contains("A  blk.0.attn_qkv.weight"));
        assert!(draw(&Chart::default(), &canvas(80)).contains("FLOP/byte"));
    }

    #[test]
    fn points_in_one_cell_share_a_letter() {
        let text = shown(120);
        assert!(text.contains("A  output.weight, blk.0.ffn_gate_up.weight +7"), "{text}");
        assert!(text.contains("-  token_embd.weight"));
    }

    #[test]
    fn points_beyond_52_letters_are_counted() {
        let points = (0..2000).map(|index| Point {
            name: format!("op {index}"),
            intensity_flop_byte: Some(1.01f64.powi(index)),
            performance_gflop_s: Some(1.0 + f64::from(index * 7919 % 1000)),
            share: Some(1.0 / f64::from(index + 1)),
            ..Point::default()
        });
        let chart = Chart { points: points.collect(), ..sample::model() };
        let text = draw(&chart, &canvas(120));
        assert!(text.contains("\nz  "), "{text}");
        assert!(text.contains("more, each with less of the time"), "{text}");
    }
}
