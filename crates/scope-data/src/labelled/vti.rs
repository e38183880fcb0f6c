//! An image of VTK: the fields at evenly spaced points, in one XML file with the numbers as they are at its end. VTK's
//! first axis is the fastest, so that fields are turned.

use std::{
    fmt::Write,
    io::{self, Error, ErrorKind},
};

use super::{LabelledArrays, Values, Variable};

pub(super) fn bytes(arrays: &LabelledArrays) -> io::Result<Vec<u8>> {
    let [x, y] = [axis(arrays, 0)?, axis(arrays, 1)?];
    let mut names = String::new();
    let mut data = Vec::new();
    for variable in arrays.variables.iter().filter(|variable| variable.dimensions == [0, 1]) {
        let Values::Single(values) = &variable.values else { continue };
        let name = &variable.name;
        // Names of fields have no characters that XML would read otherwise.
        let _ = writeln!(
            names,
            r#"        <DataArray type="Float32" Name="{name}" format="appended" offset="{}"/>"#,
            data.len()
        );
        data.extend((4 * values.len() as u64).to_le_bytes());
        let turned = (0..y.count).flat_map(|j| (0..x.count).map(move |i| values[i * y.count + j]));
        data.extend(turned.flat_map(f32::to_le_bytes));
    }
    let extent = format!("0 {} 0 {} 0 0", x.count - 1, y.count - 1);
    let mut file = format!(
        r#"<?xml version="1.0"?>
<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" header_type="UInt64">
  <ImageData WholeExtent="{extent}" Origin="{} {} 0" Spacing="{} {} 1">
    <Piece Extent="{extent}">
      <PointData Scalars="{}">
{names}      </PointData>
    </Piece>
  </ImageData>
  <AppendedData encoding="raw">
_"#,
        x.first,
        y.first,
        x.step,
        y.step,
        arrays
            .variables
            .iter()
            .find(|variable| variable.dimensions == [0, 1])
            .map_or("", |field| &field.name),
    )
    .into_bytes();
    file.extend(data);
    file.extend(b"\n  </AppendedData>\n</VTKFile>\n");
    Ok(file)
}

/// Evenly spaced points.
struct Axis {
    first: f64,
    step: f64,
    count: usize,
}

fn axis(arrays: &LabelledArrays, dimension: usize) -> io::Result<Axis> {
    let missing = || Error::new(ErrorKind::InvalidInput, "an image needs two axes with coordinates");
    let (name, count) = *arrays.dimensions.get(dimension).ok_or_else(missing)?;
    let is_axis = |variable: &&Variable| variable.name == name && variable.dimensions == [dimension];
    let Some(Values::Double(places)) = arrays.variables.iter().find(is_axis).map(|axis| &axis.values) else {
        return Err(missing());
    };
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return Err(missing()) };
    let step = if count > 1 { (last - first) / (count - 1) as f64 } else { 1.0 };
    Ok(Axis { first: *first, step, count })
}
