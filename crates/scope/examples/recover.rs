//! Complete fields from a file of sensors, through the library:
//!
//! ```sh
//! cargo run --release --example recover -- MODEL.safetensors SENSORS.csv
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;

use scope::{Device, Recovery, SensorFile};

fn main() -> Result<(), Box<dyn Error>> {
    let [model, sensors] =
        std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "MODEL SENSORS")?;
    let recovery = Recovery::open(model, &Device::all_threads())?;
    let sensors = SensorFile::open(sensors)?;
    for index in 0..sensors.len() {
        let set = sensors.set(index)?;
        let recovered = recovery.recover(&set).map_err(|error| error.describe(|sensor| set.label(sensor)))?;
        let fields = &recovered.fields;
        let middle = (fields.u.len() + recovery.resolution().columns) / 2;
        println!("problem {}: in the middle a = {}, u = {}", set.name, fields.a[middle], fields.u[middle]);
        recovered.trust.warnings.iter().for_each(|warning| println!("warning: {warning}"));
    }
    Ok(())
}
