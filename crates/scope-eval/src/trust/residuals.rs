//! Readings beside what the other sensors say of them, and those that do not fit: faulty sensors.

use std::fmt;

use scope_data::significant;
use serde::Serialize;

use crate::report::csv_cell;

/// Suspects that a sentence names.
const NAMED: usize = 5;

/// A reading beside what the other sensors say of it; prints as a phrase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Residual {
    /// How its file calls it: a line, mostly.
    pub label: String,
    /// "a" or "u".
    pub channel: &'static str,
    /// Its place along axis 0, in the unit square.
    pub x: f64,
    /// Its place along axis 1.
    pub y: f64,
    /// What was read.
    pub value: f64,
    /// What the other sensors say.
    pub expected: f64,
    /// value - expected in standard deviations of that difference.
    pub score: f64,
    /// Whether it does not fit the others.
    pub suspect: bool,
}

impl Residual {
    /// value - expected.
    pub fn residual(&self) -> f64 {
        self.value - self.expected
    }
}

impl fmt::Display for Residual {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { label, channel, value, expected, score, .. } = self;
        let score = score.abs();
        // Readings with an offset, as temperatures in kelvin have, differ in their last digits.
        let larger = value.abs().max(expected.abs());
        let [value, expected] =
            [value, expected].map(|number| significant(*number, digits_to_tell(larger, self.residual())));
        let apart = significant(score, 3);
        write!(
            f,
            "{label}: {channel} is {value} where the others say {expected} ({apart} standard deviations)"
        )
    }
}

/// So many significant digits tell numbers of a size from others that are so far off.
fn digits_to_tell(size: f64, apart: f64) -> usize {
    let more = (size / apart.abs()).log10().ceil();
    if more.is_finite() { (more as usize).clamp(3, 10) + 2 } else { 5 }
}

/// All readings of a problem, in the order of their file, whatever method says what the others expect.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Residuals {
    /// Each of them.
    pub readings: Vec<Residual>,
    /// Whether suspects were left out of the recovery.
    pub left_out: bool,
}

impl Residuals {
    /// Those that do not fit the others.
    pub fn suspects(&self) -> impl Iterator<Item = &Residual> {
        self.readings.iter().filter(|reading| reading.suspect)
    }

    /// The names of the columns of [`Self::csv`], and a line break.
    pub const CSV_HEADER: &str = "problem,label,channel,x,y,value,expected,residual,score,suspect\n";

    /// A line for each reading of a problem.
    pub fn csv(&self, problem: &str) -> String {
        let line = |reading: &Residual| {
            let Residual { channel, x, y, value, expected, score, suspect, .. } = reading;
            let numbers = format!("{x},{y},{value},{expected},{},{score}", reading.residual());
            format!("{},{},{channel},{numbers},{suspect}\n", csv_cell(problem), csv_cell(&reading.label))
        };
        self.readings.iter().map(line).collect()
    }
}

/// Readings that do not fit the others; prints as a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspects {
    /// The first of them.
    pub first: Vec<Residual>,
    /// How many suspects there are.
    pub count: usize,
    /// Whether the other readings agree with the model.
    pub others_agree: bool,
}

impl Suspects {
    /// Those among residuals, if there are any.
    pub fn of(residuals: &Residuals, others_agree: bool) -> Option<Self> {
        let first: Vec<Residual> = residuals.suspects().take(NAMED).cloned().collect();
        let count = residuals.suspects().count();
        (count > 0).then_some(Self { first, count, others_agree })
    }
}

impl fmt::Display for Suspects {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { first, count, others_agree } = self;
        let readings = if *count == 1 { "reading does" } else { "readings do" };
        let named: Vec<String> = first.iter().map(ToString::to_string).collect();
        write!(f, "{count} {readings} not fit the others: {}", named.join("; "))?;
        if *count > first.len() {
            write!(f, "; and {} more", count - first.len())?;
        }
        f.write_str(if *others_agree {
            "; the others agree with the model"
        } else {
            "; the others contradict the model too"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(label: &str, suspect: bool) -> Residual {
        let label = label.to_owned();
        Residual { label, channel: "u", x: 0.25, y: 0.5, value: 3.0, expected: 1.0, score: 8.0, suspect }
    }

    #[test]
    fn a_table_has_a_line_for_each_reading_and_quotes_what_needs_it() {
        let readings = vec![reading("line 2", false), reading("u at (3, 4)", true)];
        let table = Residuals { readings, left_out: false }.csv("one \"more\"");
        let expected = "\"one \"\"more\"\"\",line 2,u,0.25,0.5,3,1,2,8,false\n\
                        \"one \"\"more\"\"\",\"u at (3, 4)\",u,0.25,0.5,3,1,2,8,true\n";
        assert_eq!(table, expected);
        assert_eq!(Residuals::CSV_HEADER.matches(',').count(), 9);
    }

    #[test]
    fn numbers_that_differ_are_written_so() {
        let kelvin = Residual { value: 293.33, expected: 293.3273, ..reading("line 2", true) }.to_string();
        assert!(kelvin.contains("u is 293.33000 where the others say 293.32730"), "{kelvin}");
        assert!(reading("line 2", true).to_string().contains("u is 3.0000 where the others say 1.0000"));
    }

    #[test]
    fn suspects_are_named() {
        let readings = (0..7).map(|k| reading(&format!("line {k}"), k > 0)).collect();
        let suspects = Suspects::of(&Residuals { readings, left_out: false }, true).unwrap().to_string();
        let begin = "6 readings do not fit the others: line 1: u is 3.0000 where the others say 1.0000 (8.0";
        assert!(suspects.starts_with(begin), "{suspects}");
        assert!(suspects.ends_with("and 1 more; the others agree with the model"), "{suspects}");
        assert_eq!(Suspects::of(&Residuals::default(), true), None);
    }
}
