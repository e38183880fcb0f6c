//! Recovered fields as tables: a line for each point, with both fields and how far they may be off.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use scope_data::{
    Channel,
    observation::{Place, STENCIL_POINTS, Spot, Stencil},
    sensors::ProblemColumns,
};
use scope_eval::report::csv_cell;
use scope_pde::{GridShape, Pde};

use super::{recovered::Recovered, summary::MethodSummary};

/// Widths and probabilities are interpolated linearly, so that they stay between those of the pixels.
const LINEAR_POINTS: usize = 2;

/// Points at which values are wanted.
#[derive(Clone, Debug)]
pub struct Points {
    /// What the coordinates are called, and the coordinates as they are written.
    names: [&'static str; 2],
    coordinates: Vec<[f64; 2]>,
    spots: Vec<Spot>,
}

/// How a column follows from an array.
#[derive(Clone, Copy)]
struct Column {
    /// The array's name without its ending, which is the column's.
    name: &'static str,
    channel: Channel,
    /// The points along each axis that values are interpolated from; 1 is the nearest pixel.
    points: usize,
}

impl Points {
    /// Places as they were given, with the spots of the grid where they are.
    pub fn new(places: &[Place], spots: Vec<Spot>) -> Self {
        let pixels = matches!(places.first(), Some(Place::Index(..)));
        let coordinates = places.iter().map(|place| match *place {
            Place::Index(i, j) => [i as f64, j as f64],
            Place::Point(x, y) => [x, y],
        });
        Self {
            names: if pixels { ["i", "j"] } else { ["x", "y"] },
            coordinates: coordinates.collect(),
            spots,
        }
    }

    /// Every pixel, in the coordinates of the method's frame.
    pub(super) fn pixels(method: &MethodSummary) -> Self {
        let grid = method.resolution;
        let spots: Vec<Spot> = (0..grid.points())
            .map(|point| {
                let [i, j] = grid.place(point);
                Spot::pixel(i, j)
            })
            .collect();
        let coordinates =
            spots.iter().map(|spot| method.frame.point_of_unit(spot.point(method.pde, grid))).collect();
        Self { names: ["x", "y"], coordinates, spots }
    }

    /// The names of the columns, and a line break.
    pub(super) fn header(&self, method: &MethodSummary, several: bool) -> String {
        let own = ProblemColumns::of(method.pde);
        let mut names: Vec<String> = several.then(|| "problem".to_owned()).into_iter().collect();
        match self.names {
            ["x", "y"] => names.extend(own.axes),
            pixels => names.extend(pixels.map(str::to_owned)),
        }
        // "u_band68" of a field called velocity is velocity_band68.
        let called = |column: &Column| {
            format!("{}{}", own.fields[column.channel], &column.name[column.channel.name().len()..])
        };
        names.extend(columns(method).iter().map(called));
        names.join(",") + "\n"
    }

    /// Writes a line for each point; a cell is empty where nothing is known.
    pub(super) fn write(
        &self,
        recovered: &Recovered,
        several: bool,
        file: &mut impl Write,
    ) -> io::Result<()> {
        let MethodSummary { pde, resolution: grid, .. } = *recovered.method;
        let arrays: HashMap<String, Vec<&[f32]>> = recovered.arrays().into_iter().collect();
        let columns: Vec<(Column, Option<&[f32]>)> = columns(&recovered.method)
            .into_iter()
            .map(|column| (column, arrays.get(&format!("{}.npy", column.name)).map(|fields| fields[0])))
            .collect();
        let problem = if several { format!("{},", csv_cell(&recovered.problem.name)) } else { String::new() };
        for ([x, y], spot) in self.coordinates.iter().zip(&self.spots) {
            write!(file, "{problem}{x},{y}")?;
            for (column, field) in &columns {
                match field {
                    Some(field) => write!(file, ",{}", column.value(pde, grid, *spot, field))?,
                    None => file.write_all(b",")?,
                }
            }
            file.write_all(b"\n")?;
        }
        Ok(())
    }
}

impl Column {
    /// The value of a field at a spot, in single precision as fields are.
    fn value(&self, pde: Pde, grid: GridShape, spot: Spot, field: &[f32]) -> f32 {
        if self.points == 1 {
            return field[spot.nearest(grid)];
        }
        let stencil = Stencil::new(pde, self.channel, grid, spot, self.points);
        stencil.sum(|point| f64::from(field[point])) as f32
    }
}

/// The columns of a method's tables. They do not depend on what is known of one problem, so that all have the same.
fn columns(method: &MethodSummary) -> Vec<Column> {
    let present = method.pde.present();
    let channels = Channel::BOTH.into_iter().filter(|channel| present[*channel]);
    channels.flat_map(|channel| columns_of(method, channel)).collect()
}

/// A field, and how far it may be off: its deviation, the half-widths of its bands, or which of its two values it has.
fn columns_of(method: &MethodSummary, channel: Channel) -> Vec<Column> {
    let column = |name, points| Column { name, channel, points };
    let [field, deviation, bands @ ..] = match channel {
        Channel::A => ["a", "a_sd", "a_band68", "a_band95"],
        Channel::U => ["u", "u_sd", "u_band68", "u_band95"],
    };
    let mut all = vec![column(field, STENCIL_POINTS)];
    if !method.is_network() {
        all.push(column(deviation, LINEAR_POINTS));
    } else if channel == Channel::A && method.pde.descriptor().fields.a.is_two_valued() {
        all.extend([column("a_map", 1), column("a_probability", 1)]);
    } else {
        all.extend(bands.map(|name| column(name, LINEAR_POINTS)));
    }
    all
}
