//! A graph while it is built: nodes in the order in which they are computed, and fixed tensors by name.

use std::collections::HashMap;

use scope_engine::Params;

use crate::OnnxError;

/// Operations and fixed tensors.
#[derive(Debug)]
pub struct Graph {
    nodes: Vec<Node>,
    initialisers: Vec<Initialiser>,
    /// Rows and columns of its images.
    pub(crate) grid: [usize; 2],
    /// What operations gave that were asked for before, such as the transpose of a weight.
    known: HashMap<String, String>,
}

/// An operation of a graph, with the names of what it reads and gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name among the operators.
    pub operator: &'static str,
    /// What it reads.
    pub inputs: Vec<String>,
    /// What it gives.
    pub outputs: Vec<String>,
    /// The attributes of the operation.
    pub attributes: Vec<(&'static str, Attribute)>,
}

/// A setting of an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f32),
    /// Whole numbers.
    Integers(Vec<i64>),
}

/// A fixed tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Initialiser {
    /// Its name: a parameter's own, or `constant_K`.
    pub name: String,
    /// The shape of the tensor.
    pub shape: Vec<usize>,
    /// The numbers of the tensor, row by row.
    pub numbers: Numbers,
}

/// The numbers of a fixed tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
    /// Whole numbers: shapes and places.
    I64(Vec<i64>),
}

impl From<Vec<f32>> for Numbers {
    fn from(numbers: Vec<f32>) -> Self {
        Numbers::F32(numbers)
    }
}

impl From<Vec<f64>> for Numbers {
    fn from(numbers: Vec<f64>) -> Self {
        Numbers::F64(numbers)
    }
}

impl From<Vec<i64>> for Numbers {
    fn from(numbers: Vec<i64>) -> Self {
        Numbers::I64(numbers)
    }
}

impl Graph {
    /// What the readings are called.
    pub const READINGS: &'static str = "readings";
    /// What their mask is called.
    pub const MASK: &'static str = "mask";
    /// What the fields are called.
    pub const FIELDS: &'static str = "fields";

    /// A graph of images with so many rows and columns, without operations.
    pub(crate) fn new(grid: [usize; 2]) -> Self {
        Self { nodes: Vec::new(), initialisers: Vec::new(), grid, known: HashMap::new() }
    }

    /// The operations, in order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The fixed tensors.
    pub fn initialisers(&self) -> &[Initialiser] {
        &self.initialisers
    }

    /// Adds an operation with one result and gives its name.
    pub(crate) fn node(
        &mut self,
        operator: &'static str,
        inputs: &[&str],
        attributes: &[(&'static str, Attribute)],
    ) -> String {
        let name = format!("{}_{}", operator.to_lowercase(), self.nodes.len());
        self.named(operator, inputs, attributes, &[&name]);
        name
    }

    /// The same, with results of given names.
    pub(crate) fn named(
        &mut self,
        operator: &'static str,
        inputs: &[&str],
        attributes: &[(&'static str, Attribute)],
        outputs: &[&str],
    ) {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let attributes = attributes.to_vec();
        self.nodes.push(Node { operator, inputs: owned(inputs), outputs: owned(outputs), attributes });
    }

    /// A fixed tensor without a name of its own. Equal shapes and places are kept once.
    pub(crate) fn constant(&mut self, shape: &[usize], numbers: impl Into<Numbers>) -> String {
        let numbers = numbers.into();
        let key = match &numbers {
            Numbers::I64(values) => format!("{shape:?} {values:?}"),
            _ => String::new(),
        };
        if let Some(name) = self.known.get(&key) {
            return name.clone();
        }
        let name = format!("constant_{}", self.initialisers.len());
        self.initialisers.push(Initialiser { name: name.clone(), shape: shape.to_vec(), numbers });
        if !key.is_empty() {
            self.known.insert(key, name.clone());
        }
        name
    }

    /// Whole numbers as a vector.
    pub(crate) fn integers(&mut self, values: &[i64]) -> String {
        self.constant(&[values.len()], values.to_vec())
    }

    /// A parameter under its own name.
    pub(crate) fn parameter(&mut self, params: &Params, name: &str) -> Result<String, OnnxError> {
        if self.initialisers.iter().any(|known| known.name == name) {
            return Ok(name.to_owned());
        }
        let layout = params.layout();
        let id = layout.find(name).ok_or_else(|| OnnxError::Parameter(name.to_owned()))?;
        let values: Vec<f32> = params.values_of(id)?.into_iter().map(|x| x as f32).collect();
        let shape = layout.param(id).shape.clone();
        self.initialisers.push(Initialiser { name: name.to_owned(), shape, numbers: values.into() });
        Ok(name.to_owned())
    }
}
