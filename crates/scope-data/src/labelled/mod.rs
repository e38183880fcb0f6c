//! Arrays with named dimensions and attributes, as NetCDF has them, and the files that other programs open: NetCDF,
//! Zarr and VTI.

mod netcdf;
mod vti;
mod zarr;

use std::{borrow::Cow, io};

/// Names and what they say.
pub type Attributes = Vec<(&'static str, String)>;

/// Arrays over common dimensions. Variables of one dimension with its name are that dimension's coordinates.
#[derive(Clone, Debug, Default)]
pub struct LabelledArrays<'a> {
    /// Names and lengths.
    pub dimensions: Vec<(&'static str, usize)>,
    /// The arrays.
    pub variables: Vec<Variable<'a>>,
    /// What is said of all of them.
    pub attributes: Attributes,
}

/// One array in C order.
#[derive(Clone, Debug)]
pub struct Variable<'a> {
    /// What it is called.
    pub name: String,
    /// Its dimensions, by their places in [`LabelledArrays::dimensions`], the slowest first.
    pub dimensions: Vec<usize>,
    /// Its numbers.
    pub values: Values<'a>,
    /// What is said of it.
    pub attributes: Attributes,
}

/// Numbers of one kind.
#[derive(Clone, Debug)]
pub enum Values<'a> {
    /// Small whole numbers.
    Bytes(Vec<i8>),
    /// Single precision.
    Single(Cow<'a, [f32]>),
    /// Double precision.
    Double(Vec<f64>),
}

/// A kind of file for [`LabelledArrays`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelledFormat {
    /// NetCDF, the classic format with 64-bit offsets, which every NetCDF library reads.
    Netcdf,
    /// Zarr, version 2, in a zip archive.
    Zarr,
    /// An image of VTK, which ParaView opens; it has the fields alone.
    Vti,
}

impl LabelledFormat {
    /// How the names of such files end.
    pub fn ending(self) -> &'static str {
        match self {
            LabelledFormat::Netcdf => "nc",
            LabelledFormat::Zarr => "zarr.zip",
            LabelledFormat::Vti => "vti",
        }
    }

    /// The bytes of such a file. They depend on nothing but the arrays.
    pub fn bytes(self, arrays: &LabelledArrays) -> io::Result<Vec<u8>> {
        match self {
            LabelledFormat::Netcdf => netcdf::bytes(arrays),
            LabelledFormat::Zarr => zarr::bytes(arrays),
            LabelledFormat::Vti => vti::bytes(arrays),
        }
    }
}

impl LabelledArrays<'_> {
    /// The lengths of a variable's dimensions.
    fn shape(&self, variable: &Variable) -> Vec<usize> {
        variable.dimensions.iter().map(|dimension| self.dimensions[*dimension].1).collect()
    }
}

#[cfg(test)]
mod tests;
