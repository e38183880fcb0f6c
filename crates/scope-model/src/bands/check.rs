//! Bands from a file are checked before use.

use scope_data::{
    Channel,
    observation::{Family, Task},
};

use super::{AXIS_CELLS, Bands, ChannelBands, DISTANCE_CELLS, LayoutBands};

impl Bands {
    /// What is wrong with them, expected and got.
    pub fn check(&self) -> Result<(), String> {
        let [low, high] = self.levels;
        if !(0.0 < low && low < high && high < 1.0) {
            return Err(format!("levels must rise between 0 and 1, not {:?}", self.levels));
        }
        if self.records == 0 || self.shape_records == 0 {
            let counts = format!("{} and {}", self.records, self.shape_records);
            return Err(format!("records and shape_records must be positive, not {counts}"));
        }
        for (name, layout) in &self.layouts {
            let task = task_of(name).ok_or_else(|| {
                format!("\"{name}\" is no task and layout: expected names such as forward/uniform")
            })?;
            layout.check(task).map_err(|problem| format!("{name}: {problem}"))?;
        }
        Ok(())
    }
}

/// The task of a name such as `forward/uniform`; none if it is no such name.
pub(super) fn task_of(name: &str) -> Option<Task> {
    let (task, layout) = name.split_once('/')?;
    let known = layout.parse::<Family>().is_ok() || layout == "benchmark_uniform";
    task.parse().ok().filter(|_| known)
}

impl LayoutBands {
    fn check(&self, task: Task) -> Result<(), String> {
        let rising = self.sensors.is_sorted_by(|one, next| one < next);
        if self.sensors.first().is_none_or(|fewest| *fewest == 0) || !rising {
            return Err(format!("sensors must be positive and rise, not {:?}", self.sensors));
        }
        let count = self.sensors.len();
        require("mean_gap", &self.mean_gap, count)?;
        require("largest_gap", &self.largest_gap, count)?;
        for (typical, spread) in self.typical.iter().zip(&self.spread) {
            require_finite("typical", typical, count)?;
            require("spread", spread, count)?;
        }
        for (channel, usual) in Channel::BOTH.into_iter().zip(self.misfits()) {
            let name = format!("misfit_of_{}", channel.name());
            match usual {
                Some(usual) if task.observes()[channel] => require_positive(&name, usual, count)?,
                Some(_) => return Err(format!("{name} is there, and {} does not measure it", task.name())),
                None => {}
            }
        }
        for channel in Channel::BOTH {
            let bands = self.of(channel);
            self.check_powers(bands).map_err(|problem| format!("{}: {problem}", channel.name()))?;
            bands.check(task, count).map_err(|problem| format!("{}: {problem}", channel.name()))?;
        }
        Ok(())
    }

    /// Powers of misfits are there exactly where it is known what misfits are usual.
    fn check_powers(&self, bands: &ChannelBands) -> Result<(), String> {
        for ((channel, usual), power) in Channel::BOTH.into_iter().zip(self.misfits()).zip(bands.by_misfit())
        {
            let name = format!("by_misfit_of_{}", channel.name());
            match power {
                Some(power) if usual.is_some() => require(&name, &[power], 1)?,
                None if usual.is_none() => {}
                Some(_) => return Err(format!("{name} is there, and no usual misfit")),
                None => return Err(format!("{name} is missing, and usual misfits are there")),
            }
        }
        Ok(())
    }
}

impl ChannelBands {
    fn check(&self, task: Task, count: usize) -> Result<(), String> {
        let [narrow, wide] = &self.widths;
        require("widths", narrow, count)?;
        require("widths", wide, count)?;
        if narrow.iter().zip(wide).any(|(narrow, wide)| !(0.0 < *narrow && narrow <= wide)) {
            return Err("widths must be positive, and those of the second level no narrower".to_owned());
        }
        require("along_x", &self.along_x, AXIS_CELLS)?;
        require("along_y", &self.along_y, AXIS_CELLS)?;
        let from = [("from_a", &self.from_a), ("from_u", &self.from_u)];
        for ((name, factors), measured) in from.into_iter().zip(task.observes()) {
            match factors {
                Some(factors) if measured => require(name, factors, DISTANCE_CELLS)?,
                None if !measured => {}
                Some(_) => return Err(format!("{name} is there, and {} does not measure it", task.name())),
                None => return Err(format!("{name} is missing, and {} measures it", task.name())),
            }
        }
        Ok(())
    }
}

/// So many finite numbers above zero.
fn require_positive(name: &str, values: &[f64], count: usize) -> Result<(), String> {
    require(name, values, count)?;
    if values.contains(&0.0) { Err(format!("{name} must be positive, and holds 0")) } else { Ok(()) }
}

/// So many finite numbers, none below zero.
fn require(name: &str, values: &[f64], count: usize) -> Result<(), String> {
    require_finite(name, values, count)?;
    match values.iter().find(|value| **value < 0.0) {
        Some(value) => Err(format!("{name} must not be negative, and holds {value}")),
        None => Ok(()),
    }
}

/// So many finite numbers.
fn require_finite(name: &str, values: &[f64], count: usize) -> Result<(), String> {
    if values.len() != count {
        return Err(format!("{name} must have {count} numbers, not {}", values.len()));
    }
    match values.iter().find(|value| !value.is_finite()) {
        Some(value) => Err(format!("{name} must be finite, and holds {value}")),
        None => Ok(()),
    }
}
