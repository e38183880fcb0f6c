//! Complete fields from a file of sensors, through the library:
//!
//! ```sh
//! cargo run --release --example recover -- MODEL.safetensors SENSORS.csv
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;

use scope::{Device, Precision, Reconstructor, SensorFile};

fn main() -> Result<(), Box<dyn Error>> {
    let [model, sensors] =
        std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "MODEL SENSORS")?;
    let model = Reconstructor::open(model, &Device::all_threads(), Precision::F32)?;
    let sensors = SensorFile::open(sensors)?;
    for index in 0..sensors.len() {
        let set = sensors.set(index)?;
        let context = model.place(&set.sensors, set.disk.as_ref()).map_err(|error| set.explain(&error))?;
        let fields = model.recover(&context.context())?.remove(0);
        let middle = (fields.u.len() + model.about().config.resolution()) / 2;
        println!("problem {}: in the middle a = {}, u = {}", set.name, fields.a[middle], fields.u[middle]);
    }
    Ok(())
}
