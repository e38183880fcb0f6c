//! How far a recovery is from its own readings: what tells a hard field from an easy one without its truth.

use scope_data::{
    Constants, Fields, PerChannel,
    observation::{ContextMasks, Task},
};

/// No recovery counts as nearer to its readings, or further from them, than so many times the usual.
const MOST: f64 = 20.0;

/// The root mean square of recovered minus measured values of each channel that a task measures, in physical units.
/// Inside a known region there are no readings.
pub type Misfits = PerChannel<Option<f64>>;

/// The misfits of fields, as a network gave them, to readings of a and of u: \[rows, columns\] each, in stored
/// coordinates.
pub fn misfits(
    constants: &Constants,
    task: Task,
    masks: &ContextMasks,
    readings: PerChannel<&[f32]>,
    fields: &Fields,
) -> Misfits {
    let measured = task.observes();
    PerChannel::from_fn(|channel| {
        let sensors = masks.sensors(channel);
        let squares = sensors.points().map(|point| {
            let reading = constants[channel].physical(readings[channel][point]);
            (f64::from(fields[channel][point]) - reading).powi(2)
        });
        let mean = squares.sum::<f64>() / sensors.count().max(1) as f64;
        (measured[channel] && sensors.count() > 0).then(|| mean.sqrt())
    })
}

/// How many times the usual misfit one is, within bounds.
pub fn relative_misfit(misfit: f64, usual: f64) -> f64 {
    (misfit / usual).clamp(1.0 / MOST, MOST)
}
